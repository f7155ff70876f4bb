import styles from "./glyph.module.css";

/**
 * The glyphs of states, 12 px: shape and color together, never color alone. The
 * word stands beside it, or in `label` for those who can't see it.
 */

const paths: Record<string, React.ReactNode> = {
  ready: <circle cx="6" cy="6" r="4" fill="currentColor" />,
  suspect: <path d="M6 1.6 11 10.4H1z" fill="currentColor" />,
  lost: <path d="m2.4 2.4 7.2 7.2m0-7.2-7.2 7.2" className={styles.thick} />,
  left: <circle cx="6" cy="6" r="3.6" className={styles.line} />,
  new: <circle cx="6" cy="6" r="3.6" className={styles.line} strokeDasharray="2 1.8" />,
  draining: <path d="M6 1.5v8.4M2.5 6.6 6 10.1l3.5-3.5" className={styles.thick} />,
  cordoned: <rect x="1.2" y="4.6" width="9.6" height="2.8" rx=".8" fill="currentColor" />,
  quarantined: (
    <>
      <rect x="1.3" y="1.3" width="9.4" height="9.4" rx="2" className={styles.thick} />
      <path d="M4 6h4" className={styles.thick} />
    </>
  ),
  held: <rect x="1.2" y="4.6" width="9.6" height="2.8" rx=".8" className={styles.line} />,
  unhealthy: <path d="M6 1.8 10.8 10.2H1.2z" className={styles.line} />,
  queued: (
    <>
      <circle cx="6" cy="6" r="4.6" className={styles.line} />
      <path d="M6 3.4V6l1.8 1.2" className={styles.line} />
    </>
  ),
  running: (
    <>
      <circle cx="6" cy="6" r="4.3" className={styles.faint} />
      <path d="M6 1.7a4.3 4.3 0 0 1 0 8.6" className={styles.thick} />
    </>
  ),
  succeeded: <path d="m1.8 6.4 2.9 2.9 5.5-6" className={styles.thick} />,
  failed: <path d="m2.4 2.4 7.2 7.2m0-7.2-7.2 7.2" className={styles.thick} />,
  declined: (
    <>
      <circle cx="6" cy="6" r="4.6" className={styles.line} />
      <path d="m3 9 6-6" className={styles.line} />
    </>
  ),
  critical: (
    <>
      <path d="M6 .4 11.6 6 6 11.6.4 6z" fill="currentColor" />
      <path d="M6 3.3v3.1m0 1.8v.1" className={styles.mark} />
    </>
  ),
  warning: <path d="M6 1.1 10.9 6 6 10.9 1.1 6z" className={styles.line} />,
};

/** Glyphs of words that share one. */
const same: Record<string, string> = {
  active: "ready",
  released: "succeeded",
  offered: "queued",
  canceling: "running",
  open: "running",
  ended: "succeeded",
  timed_out: "failed",
  dead: "failed",
  orphaned: "failed",
  canceled: "declined",
  expired: "declined",
  unanswered: "declined",
};

const tones: Record<string, string> = {
  ready: styles.ready ?? "",
  running: styles.ready ?? "",
  suspect: styles.suspect ?? "",
  unhealthy: styles.suspect ?? "",
  warning: styles.suspect ?? "",
  lost: styles.lost ?? "",
  failed: styles.lost ?? "",
  critical: styles.lost ?? "",
  draining: styles.draining ?? "",
  cordoned: styles.cordoned ?? "",
  quarantined: styles.cordoned ?? "",
  held: styles.cordoned ?? "",
};

export function Glyph({ of, size = 12, label }: { of: string; size?: number; label?: string }) {
  const name = paths[of] ? of : (same[of] ?? "left");
  const named = label ? { role: "img", "aria-label": label } : { "aria-hidden": true };
  return (
    <svg className={`${styles.glyph} ${tones[name] ?? styles.quiet}`} width={size} height={size} viewBox="0 0 12 12" {...named}>
      {label && <title>{label}</title>}
      {paths[name]}
    </svg>
  );
}

/** Glyph and word. The word is ink; only the glyph has the color. */
export function State({ of, strong }: { of: string; strong?: boolean }) {
  return (
    <span className={strong ? styles.strong : styles.state}>
      <Glyph of={of} size={strong ? 14 : 12} />
      {of.replace("_", " ")}
    </span>
  );
}
