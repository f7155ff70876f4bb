import { Link } from "@tanstack/react-router";
import { count, duration, plural } from "../format";
import { useNow } from "../live/live";
import type { Live } from "../live/store";
import { CapacityBar, Segments, Spark } from "../ui/bars";
import { Glyph } from "../ui/Glyph";
import type { AlarmRow, PoolRow } from "../wire/messages";
import styles from "./fleet.module.css";
import { kindWords, states, sum } from "./pool";

export interface PoolCardProps {
  pool: Live<PoolRow>;
  /** The worst that lasts of this pool. */
  alarm: AlarmRow | undefined;
}

/** A pool at a glance: the whole card opens it, a glyph's count opens its nodes of that state. */
export function PoolCard({ pool, alarm }: PoolCardProps) {
  const used = pool.slots_total - pool.slots_free - pool.slots_out_of_use;
  const aside = pool.kind === "unassigned";
  return (
    <li className={`${styles.card} ${aside ? styles.aside : ""}`} data-pool={pool.id}>
      <div className={styles.top}>
        <h2>
          <Link to="/pools/$id" params={{ id: pool.id }} className={styles.whole ?? ""}>
            {pool.id}
          </Link>
        </h2>
        <span className={styles.quiet}>{kindWords(pool)}</span>
        {pool.canary && <Badge mark="C" text="canary" />}
        {pool.state !== "active" && <Badge text={pool.state} />}
        {pool.mass_loss_ms > 0 && <Badge text="mass loss" />}
        {alarm && <AlarmChip alarm={alarm} />}
      </div>
      <div className={styles.free}>
        <strong>{count(pool.slots_free)}</strong> free
        <span>{aside && pool.slots_out_of_use > 0 ? `${plural(pool.slots_out_of_use, "slot")} out of use` : `of ${plural(pool.slots_total, "slot")}`}</span>
      </div>
      <CapacityBar used={used} out={pool.slots_out_of_use} total={pool.slots_total} />
      <div className={styles.segments}>
        <Segments parts={states(pool.nodes)} />
      </div>
      <Counts pool={pool} />
      <div className={styles.foot}>{aside ? <p>Still connected; nothing resolves here.</p> : <Work pool={pool} alarm={alarm} />}</div>
    </li>
  );
}

function Work({ pool, alarm }: PoolCardProps) {
  return (
    <>
      <dl>
        <dt>Running</dt>
        <dd>{count(pool.running)}</dd>
      </dl>
      <dl>
        <dt>Queued</dt>
        <dd>{count(pool.queued)}</dd>
      </dl>
      <dl>
        <dt>Oldest wait</dt>
        <dd>
          <OldestWait pool={pool} alarm={alarm} />
        </dd>
      </dl>
      <div className={styles.spark}>
        <span>Queue, 1 h</span>
        <Spark values={pool.spark} label={sparkWords(pool)} />
      </div>
    </>
  );
}

/** How long the oldest waits; past the threshold with the glyph of the pool's alarm. */
export function OldestWait({ pool, alarm }: PoolCardProps) {
  const now = useNow();
  if (pool.oldest_wait_ms < 0) return "none";
  const waits = pool.oldest_wait_ms + Math.max(0, now - pool.received);
  return (
    <>
      {waits > pool.threshold_queue_wait_ms && <Glyph of={alarm?.severity ?? "warning"} label="past the threshold" />}{" "}
      {waits < 10_000 ? `${(waits / 1000).toFixed(1)}s` : duration(waits)}
    </>
  );
}

function sparkWords(pool: PoolRow): string {
  const most = Math.max(...pool.spark, pool.queued);
  return `Queued in the last hour: at most ${count(most)}, now ${count(pool.queued)}`;
}

/** With four states and more only ready keeps its word. */
function Counts({ pool }: { pool: PoolRow }) {
  const list = states(pool.nodes);
  const total = sum(pool.nodes);
  return (
    <div className={styles.counts}>
      {list.map(({ state, n }) => (
        <Link key={state} to="/nodes" search={{ q: `pool:${pool.id} state:${state}` }} title={`${count(n)} ${state}`}>
          <Glyph of={state} size={10} /> {count(n)} <span className={list.length >= 4 && state !== "ready" ? "visually-hidden" : styles.quiet}>{state}</span>
        </Link>
      ))}
      <span className={styles.total}>{plural(total, "node")}</span>
      <span className={styles.queued}>
        {pool.kind === "unassigned" ? (
          plural(total, "node")
        ) : pool.queued > 0 ? (
          <>
            <b>{count(pool.queued)}</b> queued
          </>
        ) : (
          "queue empty"
        )}
      </span>
    </div>
  );
}

/** pool_exhausted ×37 */
export function AlarmChip({ alarm }: { alarm: AlarmRow }) {
  return (
    <Link to="/alarms" search={{ id: alarm.id }} className={`${styles.chip} ${alarm.severity === "critical" ? styles.critical : ""}`} title={alarm.detail}>
      <Glyph of={alarm.severity} label={alarm.severity} />
      {alarm.kind} ×{count(alarm.count)}
    </Link>
  );
}

export function Badge({ mark, text }: { mark?: string; text: string }) {
  return (
    <span className={styles.badge}>
      {mark && <b>{mark}</b>} {text}
    </span>
  );
}
