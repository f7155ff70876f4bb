import styles from "./bars.module.css";

/** Bars are decoration to those who listen: the number always stands beside them. */

const part = (n: number, of: number) => (of > 0 ? `${Math.min(100, Math.max(0, (n / of) * 100))}%` : "0%");

/** Used is solid, out of use hatched, free empty. */
export function CapacityBar({ used, out, total, thin }: { used: number; out: number; total: number; thin?: boolean }) {
  return (
    <span className={`${styles.capacity} ${thin ? styles.thin : ""}`} aria-hidden="true">
      <span className={styles.used} style={{ width: part(used, total) }} />
      <span className={styles.out} style={{ width: part(out, total) }} />
    </span>
  );
}

/** How far a job is, in the color of running. */
export function Progress({ percent }: { percent: number }) {
  return (
    <span className={`${styles.capacity} ${styles.thin}`} aria-hidden="true">
      <span className={styles.running} style={{ width: part(percent, 100) }} />
    </span>
  );
}

/** One segment a state, 4 px at least: a lost node of 1,842 is seen. */
export function Segments({ parts }: { parts: { state: string; n: number }[] }) {
  return (
    <span className={styles.segments} aria-hidden="true">
      {parts
        .filter((p) => p.n > 0)
        .map((p) => (
          <span key={p.state} className={styles[p.state] ?? styles.other} style={{ flexGrow: p.n }} />
        ))}
    </span>
  );
}

/** A small curve with its last value marked. */
export function Spark({ values, label }: { values: number[]; label: string }) {
  const width = 96;
  const height = 20;
  const top = Math.max(1, ...values);
  const x = (i: number) => (values.length < 2 ? width - 4 : 2 + (i * (width - 6)) / (values.length - 1));
  const y = (v: number) => height - 3 - (v / top) * (height - 6);
  const line = values.map((v, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const last = values[values.length - 1];
  return (
    <svg className={styles.spark} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <title>{label}</title>
      {values.length > 1 && <path className={styles.area} d={`${line}V${height - 1}H${x(0)}Z`} />}
      <path className={styles.curve} d={line} />
      {last !== undefined && <circle className={styles.dot} cx={x(values.length - 1)} cy={y(last)} r="2" />}
    </svg>
  );
}
