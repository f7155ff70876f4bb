import { type KeyboardEvent, type PointerEvent, useEffect, useId, useRef, useState } from "react";
import { count, hourMinute, moment, plural } from "../format";
import styles from "./chart.module.css";
import { nearest, rises, thin } from "./scale";

/** What slots were at one moment, unix milliseconds. */
export interface CapacityPoint {
  at: number;
  used: number;
  outOfUse: number;
  total: number;
  queued: number;
  draining: number; // nodes
}

const height = 132;
const top = 8;

/** Slots over time: used solid, out of use hatched above it, all of them a dashed line. A cursor reads the values, by pointer or by arrow keys. */
export function CapacityChart({ points, from, to, label }: { points: CapacityPoint[]; from: number; to: number; label: string }) {
  const hatch = useId();
  const [frame, width] = useWidth();
  const [cursor, setCursor] = useState<number | null>(null);
  const peak = Math.max(1, ...points.map((p) => Math.max(p.total, p.used + p.outOfUse)));
  const x = (at: number) => ((at - from) / Math.max(1, to - from)) * width;
  const y = (v: number) => height - (v / peak) * (height - top);
  const chosen = cursor === null ? undefined : points[cursor];
  const read = chosen ?? points[points.length - 1];
  const point = (e: PointerEvent<HTMLElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    setCursor(
      nearest(
        points.map((p) => p.at),
        from + ((e.clientX - box.left) / Math.max(1, box.width)) * (to - from),
      ),
    );
  };
  const step = (e: KeyboardEvent) => {
    const next = stepped(e.key, cursor ?? points.length - 1, points.length);
    if (next === undefined) return;
    e.preventDefault();
    setCursor(next);
  };
  return (
    <figure className={styles.chart}>
      <div className={styles.values} aria-hidden="true">
        <span style={{ top }}>{count(peak)}</span>
        <span style={{ top: (height + top) / 2 }}>{count(Math.round(peak / 2))}</span>
        <span style={{ top: height }}>0</span>
      </div>
      <div
        ref={frame}
        className={styles.plot}
        tabIndex={0}
        role="slider"
        aria-label={`Cursor: ${label}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, points.length - 1)}
        aria-valuenow={cursor ?? Math.max(0, points.length - 1)}
        aria-valuetext={read && words(read)}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setCursor(null)}
        onBlur={() => setCursor(null)}
        onKeyDown={step}
      >
        <svg width={width} height={height + 1} aria-hidden="true">
          <defs>
            <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <path d="M0 0V5" className={styles.stroke} />
            </pattern>
          </defs>
          <path className={styles.grid} d={`M0 ${y(peak / 2)}H${width}M0 ${height}H${width}`} />
          <path className={styles.area} d={area(points, x, y, (p) => p.used)} />
          <path fill={`url(#${hatch})`} d={band(points, x, y)} />
          <path className={styles.curve} d={line(points, x, y, (p) => p.used)} />
          <path className={styles.total} d={line(points, x, y, (p) => p.total)} />
          <Drains points={points} x={x} width={width} />
          {chosen && <path className={styles.cursor} d={`M${x(chosen.at)} ${top}V${height}`} />}
          {chosen && <circle className={styles.dot} cx={x(chosen.at)} cy={y(chosen.used)} r="3" />}
        </svg>
        <span aria-hidden="true">{chosen && <Reading point={chosen} left={x(chosen.at)} width={width} />}</span>
      </div>
      <Times from={from} to={to} narrow={width < 420} />
      <Listed points={points} label={label} />
    </figure>
  );
}

/** Where nodes began to be drained; the newest has its words. */
function Drains({ points, x, width }: { points: CapacityPoint[]; x: Scale; width: number }) {
  const all = rises(points.map((p) => p.draining));
  return all.map(({ at, by }, i) => {
    const point = points[at];
    if (!point) return null;
    const left = x(point.at);
    const near = left < width / 2;
    return (
      <g key={point.at}>
        <path className={styles.drain} d={`M${left} ${top}V${height}`} />
        {i === all.length - 1 && (
          <text className={styles.mark} x={near ? left + 6 : left - 6} y={height - 8} textAnchor={near ? "start" : "end"}>
            drain of {plural(by, "node")}, {hourMinute(point.at)}
          </text>
        )}
      </g>
    );
  });
}

export function ChartLegend() {
  return (
    <span className={styles.legend} aria-hidden="true">
      <i className={styles.solid} /> used <i className={styles.hatched} /> out of use
    </span>
  );
}

/** The index that a key leads to. */
export function stepped(key: string, at: number, length: number): number | undefined {
  const to: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 30, PageDown: at + 30, Home: 0, End: length - 1 };
  const next = to[key];
  return next === undefined || length === 0 ? undefined : Math.min(length - 1, Math.max(0, next));
}

const words = (p: CapacityPoint) =>
  `${hourMinute(p.at)}: ${count(p.used)} used, ${count(p.outOfUse)} out of use, ${count(Math.max(0, p.total - p.used - p.outOfUse))} free of ${count(p.total)}, ${count(p.queued)} queued`;

function Reading({ point: p, left, width }: { point: CapacityPoint; left: number; width: number }) {
  const right = left > width / 2;
  return (
    <div className={styles.reading} style={right ? { right: width - left + 12 } : { left: left + 12 }}>
      {[
        [hourMinute(p.at), `of ${count(p.total)}`],
        ["used", count(p.used)],
        ["out of use", count(p.outOfUse)],
        ["free", count(Math.max(0, p.total - p.used - p.outOfUse))],
        ["queued", count(p.queued)],
      ].map(([name, value]) => (
        <p key={name}>
          <span>{name}</span> {value}
        </p>
      ))}
    </div>
  );
}

function Times({ from, to, narrow }: { from: number; to: number; narrow: boolean }) {
  const parts = narrow ? 2 : 4;
  const write = to - from < 10 * 60_000 ? moment : hourMinute;
  const times = Array.from({ length: parts + 1 }, (_, i) => from + ((to - from) * i) / parts);
  return (
    <div className={styles.times} aria-hidden="true">
      {times.map((t) => (
        <span key={t}>{write(t)}</span>
      ))}
    </div>
  );
}

/** The same as a table, for those who can't see the curve. */
function Listed({ points, label }: { points: CapacityPoint[]; label: string }) {
  return (
    <table className="visually-hidden">
      <caption>{label}</caption>
      <thead>
        <tr>
          <th scope="col">At</th>
          <th scope="col">Used</th>
          <th scope="col">Out of use</th>
          <th scope="col">All</th>
          <th scope="col">Queued</th>
          <th scope="col">Nodes drained</th>
        </tr>
      </thead>
      <tbody>
        {thin(points, 13).map((p) => (
          <tr key={p.at}>
            <th scope="row">{hourMinute(p.at)}</th>
            <td>{count(p.used)}</td>
            <td>{count(p.outOfUse)}</td>
            <td>{count(p.total)}</td>
            <td>{count(p.queued)}</td>
            <td>{count(p.draining)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Scale = (v: number) => number;

function line(points: CapacityPoint[], x: Scale, y: Scale, value: (p: CapacityPoint) => number): string {
  return points.map((p, i) => `${i === 0 ? "M" : "L"}${x(p.at).toFixed(1)} ${y(value(p)).toFixed(1)}`).join("");
}

function area(points: CapacityPoint[], x: Scale, y: Scale, value: (p: CapacityPoint) => number): string {
  const first = points[0];
  const last = points[points.length - 1];
  if (!first || !last) return "";
  return `${line(points, x, y, value)}L${x(last.at).toFixed(1)} ${height}L${x(first.at).toFixed(1)} ${height}Z`;
}

/** What lies between used and used plus out of use. */
function band(points: CapacityPoint[], x: Scale, y: Scale): string {
  if (points.length === 0) return "";
  const above = line(points, x, y, (p) => p.used + p.outOfUse);
  const back = points.toReversed().map((p) => `L${x(p.at).toFixed(1)} ${y(p.used).toFixed(1)}`);
  return `${above}${back.join("")}Z`;
}

/** The width of an element, as it changes. */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.round(entry.contentRect.width)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [frame, width] as const;
}
