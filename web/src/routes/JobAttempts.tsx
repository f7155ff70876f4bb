import { Link } from "@tanstack/react-router";
import type { Attempt, JobAsks } from "../api/documents";
import { hourMinute, span as length, moment, plural } from "../format";
import { useNow } from "../live/live";
import { isOpen } from "../state";
import { causeIn } from "../strings";
import { useNarrow } from "../table/Table";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import styles from "./job.module.css";

const at = (time: string | undefined) => (time ? Date.parse(time) : 0);
/** Declined and unanswered offers never started: they don't count. */
const uncounted = new Set(["declined", "unanswered"]);

/** How an attempt stands: the newest open one is what the job is. */
function stateOf(a: Attempt, row: JobRow): string {
  if (a.outcome === "open" && a.attempt === row.attempt && isOpen(row)) return row.state;
  if (a.outcome === "ended" && a.attempt === row.attempt && !isOpen(row)) return row.state;
  if (a.outcome === "ended") return a.reason ? "failed" : "succeeded";
  return a.outcome;
}

const span = (a: Attempt, now: number) => {
  const from = at(a.assignedAt);
  return { from, to: at(a.endedAt) || (a.outcome === "open" ? now : at(a.startedAt) || from) };
};

function wordsOf(a: Attempt, row: JobRow): string {
  if (a.outcome === "open" && row.state === "running") return row.percent > 0 ? `${row.percent}% done` : "it tells no progress";
  const cause = a.reason ? causeIn(a.reason) : "";
  return uncounted.has(a.outcome) ? [cause, "not counted"].filter(Boolean).join("; ") : cause;
}

/** Every attempt, as a timeline and as a table. */
export function Attempts({ row, attempts, asks }: { row: JobRow; attempts: Attempt[] | undefined; asks: JobAsks | undefined }) {
  const now = useNow();
  const phone = useNarrow();
  const list = attempts ?? [];
  const free = list.filter((a) => uncounted.has(a.outcome)).length;
  const all = free > 0 ? `${list.length}, of which ${free} not counted` : String(list.length);
  const note = list.length === 0 ? undefined : phone && asks ? `${asks.counted} of ${asks.maxAttempts} counted` : all;
  const table = !phone && list.length > 0;
  const timeline = (
    <Panel title="Attempts" note={note} flush>
      {!attempts ? (
        <div className={styles.pad}>
          <Gray lines={2} />
        </div>
      ) : list.length === 0 ? (
        <Empty title="No attempt yet">It is offered to a node as soon as one can take it.</Empty>
      ) : phone ? (
        <Cards list={list.toReversed()} row={row} now={now} />
      ) : (
        <Timeline list={list} row={row} now={now} />
      )}
    </Panel>
  );
  if (!table) return timeline;
  return (
    <>
      {timeline}
      <Panel label="Attempts, the newest first" flush>
        <Rows list={list.toReversed()} row={row} now={now} />
      </Panel>
    </>
  );
}

function Timeline({ list, row, now }: { list: Attempt[]; row: JobRow; now: number }) {
  const from = row.created_at;
  const to = Math.max(from + 100, row.ended_at || now);
  const place = (t: number) => `${Math.min(100, Math.max(0, ((t - from) / (to - from)) * 100))}%`;
  const width = (a: number, b: number) => `max(4px, ${Math.max(0, ((b - a) / (to - from)) * 100)}%)`;
  const waited = gaps(list, row, now);
  const total = waited.reduce((ms, g) => ms + g.to - g.from, 0);
  return (
    <div className={styles.timeline} aria-hidden="true">
      <div className={styles.axis}>
        {[0, 0.25, 0.5, 0.75].map((part) => (
          <span key={part} style={{ left: `${part * 100}%` }}>
            {to - from > 240_000 ? hourMinute(from + part * (to - from)) : part === 0 ? hourMinute(from) : `+${length(part * (to - from))}`}
          </span>
        ))}
      </div>
      <div className={styles.lane}>
        <span>
          <Glyph of="queued" /> Queue
        </span>
        <div>
          {waited.map((g) => (
            <i key={g.from} className={styles.waited} style={{ left: place(g.from), width: width(g.from, g.to) }} />
          ))}
          <small style={{ left: `calc(${place(waited.at(-1)?.to ?? from)} + 12px)` }}>{length(total)} in all</small>
        </div>
      </div>
      {list.map((a) => {
        const s = span(a, now);
        const state = stateOf(a, row);
        return (
          <div key={a.attempt} className={styles.lane}>
            <span>
              <Glyph of={state} /> {a.attempt} <code>{a.node}</code>
            </span>
            <div>
              <i className={styles[state] ?? styles.waited} style={{ left: place(s.from), width: width(s.from, s.to) }} />
              <small style={{ left: `calc(${place(s.to)} + 12px)` }}>{lane(a, state, row, (s.to - from) / (to - from))}</small>
            </div>
          </div>
        );
      })}
    </div>
  );
}

/** What stands behind a bar: beside one that reaches far there is room for the state alone. */
function lane(a: Attempt, state: string, row: JobRow, end: number): string {
  const word = state.replace("_", " ");
  if (a.outcome === "open" && row.state === "running" && row.percent > 0) return `${word}, ${row.percent}%`;
  return a.reason && end < 0.6 ? `${word}, ${causeIn(a.reason)}` : word;
}

/** When the job waited: before, between and after its attempts. */
function gaps(list: Attempt[], row: JobRow, now: number): { from: number; to: number }[] {
  const out: { from: number; to: number }[] = [];
  let cursor = row.created_at;
  for (const a of list) {
    const s = span(a, now);
    if (s.from > cursor) out.push({ from: cursor, to: s.from });
    cursor = Math.max(cursor, s.to);
  }
  if (row.state === "queued" && now > cursor) out.push({ from: cursor, to: now });
  return out;
}

interface ListProps {
  list: Attempt[];
  row: JobRow;
  now: number;
}

function ran(a: Attempt, row: JobRow, now: number): string {
  const open = a.outcome === "open" && a.attempt === row.attempt;
  const from = at(a.startedAt) || (open ? row.started_at : 0);
  if (from) return length((open ? now : span(a, now).to) - from);
  return open ? "not yet" : "never";
}

function Rows({ list, row, now }: ListProps) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">{plural(list.length, "attempt")}, the newest first</caption>
      <thead>
        <tr>
          <th scope="col">No.</th>
          <th scope="col">Node</th>
          <th scope="col">Outcome</th>
          <th scope="col">Offered</th>
          <th scope="col">Ran for</th>
          <th scope="col">In words</th>
        </tr>
      </thead>
      <tbody>
        {list.map((a) => (
          <tr key={a.attempt}>
            <td>{a.attempt}</td>
            <td>
              <Link to="/nodes/$id" params={{ id: a.node }} className="mono">
                {a.node}
              </Link>
            </td>
            <td>
              <State of={stateOf(a, row)} />
            </td>
            <td>{a.assignedAt ? moment(a.assignedAt) : ""}</td>
            <td>{ran(a, row, now)}</td>
            <td>{wordsOf(a, row)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cards({ list, row, now }: ListProps) {
  return (
    <ul className={styles.cards}>
      {list.map((a) => (
        <li key={a.attempt}>
          <span className={styles.line}>
            <Glyph of={stateOf(a, row)} /> {a.attempt} <code>{a.node}</code>
            <span className={styles.quiet}>{stateOf(a, row).replace("_", " ")}</span>
            <span className={styles.end}>{ran(a, row, now)}</span>
          </span>
          <Track a={a} row={row} now={now} />
          {wordsOf(a, row) && <span className={styles.quiet}>{wordsOf(a, row)}</span>}
        </li>
      ))}
    </ul>
  );
}

/** When it was, within the time from the submit to the end. */
function Track({ a, row, now }: { a: Attempt; row: JobRow; now: number }) {
  const whole = Math.max(100, (row.ended_at || now) - row.created_at);
  const s = span(a, now);
  const part = (ms: number) => Math.min(100, Math.max(0, (ms / whole) * 100));
  return (
    <span className={styles.track} aria-hidden="true">
      <i
        className={styles[stateOf(a, row)] ?? styles.waited}
        style={{ left: `${Math.min(99, part(s.from - row.created_at))}%`, width: `max(6px, ${part(s.to - s.from)}%)` }}
      />
    </span>
  );
}
