import { Link } from "@tanstack/react-router";
import type { Job, Pool, Resolver, Usage } from "../api/documents";
import { count, duration, moment, plural } from "../format";
import { useNow } from "../live/live";
import type { Live } from "../live/store";
import { Button } from "../ui/controls";
import { Empty, Facts, Failed, Gray, Panel } from "../ui/Panel";
import type { PoolRow } from "../wire/messages";
import { notReady, percent } from "./PoolNumbers";
import styles from "./poolpage.module.css";
import { byWait } from "./queue";
import { spanWords } from "./thresholds";
import { hours, shareOfApp } from "./usage";

/** What stands at the right of a pool: who comes here, what waits, where alarms begin. */

/** Why an app resolves to the pool. */
export function because(r: Resolver): string {
  if (r.fallback) return "by fallback alone";
  if (r.rule === "owner_pool") return "owner's pool";
  if (r.rule === "no_owner") return "it has no owner";
  const place = `bound, ${r.place === 0 ? "first" : `place ${r.place + 1}`}`;
  return r.role ? `${place}, for ${r.role}` : place;
}

export interface ResolversProps {
  pool: PoolRow;
  doc: Pool | undefined;
  error: unknown;
  again(): void;
  usage: Usage[] | undefined;
  waiting: Job[] | undefined;
}

export function Resolvers({ pool, doc, error, again, usage, waiting }: ResolversProps) {
  const list = doc?.resolvers ?? [];
  return (
    <Panel title="Who resolves here" flush>
      {error ? (
        <Failed error={error} again={again} />
      ) : !doc ? (
        <div className={styles.pad}>
          <Gray lines={3} wide={280} />
        </div>
      ) : list.length === 0 ? (
        <Nobody pool={pool} />
      ) : (
        <table className={styles.list}>
          <caption className="visually-hidden">Apps that resolve to {pool.id}</caption>
          <thead>
            <tr>
              <th scope="col">App</th>
              <th scope="col">Because</th>
              <th scope="col" data-number>
                Running
              </th>
              <th scope="col" data-number>
                Queued
              </th>
              <th scope="col" data-number>
                Fallback
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((r) => (
              <Resolves key={`${r.app} ${r.role ?? ""}`} pool={pool.id} resolver={r} usage={usage} waiting={waiting} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Resolves({ pool, resolver: r, usage, waiting }: { pool: string; resolver: Resolver; usage: Usage[] | undefined; waiting: Job[] | undefined }) {
  const share = usage && shareOfApp(usage, pool, r.app);
  return (
    <tr>
      <th scope="row">
        <Link to="/apps" search={{ app: r.app }}>
          {r.app}
        </Link>{" "}
        <span>{r.owner ? `user ${r.owner}` : "no owner"}</span>
      </th>
      <td>{because(r)}</td>
      <td data-number>{count(r.running)}</td>
      <td data-number>{waiting ? count(waiting.filter((j) => j.app === r.app && (!r.role || j.role === r.role)).length) : "—"}</td>
      <td
        data-number
        title={share && share.slotHours > 0 ? `${percent(share.percent)} of ${hours(share.slotHours)} slot-h ran as fallback in 2 days` : undefined}
      >
        {r.allowed ? "allowed" : "off"}
      </td>
    </tr>
  );
}

function Nobody({ pool }: { pool: PoolRow }) {
  if (pool.kind === "unassigned") return <Empty title="Nothing resolves here, ever">Its nodes stay connected and get no work.</Empty>;
  if (pool.kind === "named") return <Empty title="Nothing resolves here">It is a canary pool until an app is bound to it: only canary jobs run.</Empty>;
  return <Empty title="No app resolves here">Its nodes wait until one does.</Empty>;
}

export interface QueueProps {
  pool: Live<PoolRow>;
  /** Those read of it, the newest of all queued jobs. */
  waiting: Job[] | undefined;
  error: unknown;
  again(): void;
}

export function Queue({ pool, waiting, error, again }: QueueProps) {
  const now = useNow();
  const groups = byWait(waiting ?? [], pool.id);
  const missing = Math.max(0, pool.queued - (waiting?.length ?? 0));
  return (
    <Panel
      title="Queue"
      note={pool.queued > 0 ? `${count(pool.queued)}, by what they wait for` : undefined}
      flush
      side={
        pool.queued > 0 && (
          <Link to="/jobs" search={{ q: "state:queued" }} data-link>
            Open as jobs
          </Link>
        )
      }
    >
      {error ? (
        <Failed error={error} again={again} />
      ) : !waiting ? (
        <div className={styles.pad}>
          <Gray lines={2} wide={240} />
        </div>
      ) : groups.length === 0 && missing === 0 ? (
        <Empty title="Nothing waits">{pool.kind === "unassigned" ? "Nothing can." : "Work is placed as it comes."}</Empty>
      ) : (
        <ul className={styles.queue}>
          {groups.map((g) => (
            <li key={g.key}>
              <Link to="/jobs" search={{ q: `state:queued app:${g.app}${g.reason ? ` reason:${g.reason}` : ""}` }}>
                <b data-figures>{count(g.jobs)}</b>
                <span>
                  {g.words}
                  <small>
                    {g.app}, {g.role}
                  </small>
                </span>
                <time>{duration(now - g.since)}</time>
              </Link>
            </li>
          ))}
          {missing > 0 && <li className={styles.quiet}>{plural(missing, "more job")} not read here.</li>}
        </ul>
      )}
    </Panel>
  );
}

/** From when on a pool raises an alarm, and how far it is from there. */
export function Thresholds({
  pool,
  doc,
  onChange,
  why,
}: {
  pool: PoolRow;
  doc: Pool | undefined;
  onChange?: (() => void) | undefined;
  why?: string | undefined;
}) {
  const now = notReady(pool);
  const passed = pool.overdue > 0 ? `passed by ${plural(pool.overdue, "job")}` : "none waits longer";
  return (
    <Panel
      title="Thresholds"
      side={
        onChange && (
          <Button tone="link" onPress={onChange} why={why}>
            Change
          </Button>
        )
      }
    >
      <Facts
        rows={[
          ["Queue wait", `${spanWords(pool.threshold_queue_wait_ms)}, ${passed}`],
          ["Free slots", `${count(pool.threshold_free_slots)} or fewer while work waits`],
          ["Not ready", pool.threshold_not_ready_pct >= 100 ? "never" : `${pool.threshold_not_ready_pct}%, now ${percent(now.percent)}: ${now.words}`],
          ...(doc?.thresholdsChanged ? ([["Changed", `${moment(doc.thresholdsChanged.at)} by ${doc.thresholdsChanged.by}`]] as [string, string][]) : []),
        ]}
      />
    </Panel>
  );
}
