import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getDecision, getExplanation } from "../api/calls";
import { Refusal } from "../api/client";
import type { Decision, Explanation, PoolDecision, PoolExplanation } from "../api/documents";
import { count, moment, plural } from "../format";
import { useStale } from "../live/live";
import { byReason, reasonIn } from "../strings";
import { Button } from "../ui/controls";
import { Glyph } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import styles from "./job.module.css";

/** What is known of why a job is where it is. */

function useDecision(row: JobRow) {
  return useQuery({
    queryKey: ["decision", row.id, row.attempt, row.state === "queued" ? row.reason : ""],
    queryFn: () => getDecision(row.id),
    placeholderData: (old) => old,
  });
}

/** user 7, or nothing of a pool that is none's own. */
const ownerOf = (pool: string) => (/^pool-\d+$/.test(pool) ? `user ${pool.slice(5)}, ` : "");

/** The rule that led to the pools, in words. */
function ruleWords(d: Pick<Decision, "rule" | "pools">, app: string): string {
  const pool = d.pools[0]?.pool ?? "no pool";
  if (d.rule === "binding") return `${app} is bound to ${d.pools.map((p) => p.pool).join(", then ")}.`;
  if (d.rule === "owner_pool") return `No binding, so ${pool} of its owner${ownerOf(pool) && `, ${ownerOf(pool).slice(0, -2)}`}.`;
  return `${app} has no owner, so ${pool}.`;
}

function fallbackWords(d: Decision): string {
  if (d.fallback) return "It ran as fallback: its own pools could not take it.";
  return d.fallbackAllowed ? "Fallback to default is allowed." : "Fallback is off.";
}

/** Why this node, and why not the others. */
export function WhyThisNode({ row }: { row: JobRow }) {
  const decision = useDecision(row);
  const d = decision.data;
  if (decision.error && !d) {
    const none = decision.error instanceof Refusal && decision.error.status === 404;
    return (
      <Panel title="Why this node" flush>
        {none ? <Empty title="No decision yet" /> : <Failed error={decision.error} again={() => void decision.refetch()} />}
      </Panel>
    );
  }
  if (!d) {
    return (
      <Panel title="Why this node">
        <Gray lines={3} wide={280} />
      </Panel>
    );
  }
  if (d.outcome !== "placed" || !d.node) return <HowPool d={d} row={row} />;
  const last = d.pools[d.pools.length - 1];
  const others = d.pools.reduce((n, p) => n + p.nodes - p.candidates, 0);
  return (
    <Panel title="Why this node" note={`at ${moment(d.at)}`} flush>
      <div className={styles.pad}>
        <p className={styles.sentence}>
          {d.node} had the most free slots of <b>{count(last?.candidates ?? 0)}</b> {last?.candidates === 1 ? "node" : "nodes"} that could take it.
        </p>
        <p className={styles.small}>
          {d.tieBreak && "Others had as many; the lowest id won. "}
          {plural(d.remainingSlots, "slot")} left there beside this job.
        </p>
        <p className={styles.small}>
          {ruleWords(d, row.app)} {fallbackWords(d)}
        </p>
      </div>
      <h3 className={styles.subhead}>
        {others > 0 ? `Why not the other ${count(others)}` : "No node was turned away"}
        <span>
          of{" "}
          {plural(
            d.pools.reduce((n, p) => n + p.nodes, 0),
            "node",
          )}
        </span>
      </h3>
      {others > 0 && <Rejected pools={d.pools} />}
    </Panel>
  );
}

/** How many nodes each first reason took. */
function Rejected({ pools }: { pools: PoolDecision[] }) {
  const several = pools.length > 1;
  const list = pools.flatMap((p) =>
    Object.entries(p.rejected)
      .filter(([, n]) => n > 0)
      .sort(([a], [b]) => byReason(a, b))
      .map(([reason, n]) => ({ pool: p.pool, reason, n })),
  );
  return (
    <ul className={styles.reasons}>
      {list.map((r) => (
        <li key={`${r.pool} ${r.reason}`}>
          <b>{count(r.n)}</b>
          <span>{r.reason}</span>
          <span className={styles.quiet}>
            {reasonIn(r.reason) === r.reason ? "" : reasonIn(r.reason)}
            {several && `, in ${r.pool}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** How the pool was found, for a job that has no node. */
function HowPool({ d, row }: { d: Decision; row: JobRow }) {
  const step = (hit: boolean, title: string, words: string) => (
    <li>
      <Glyph of={hit ? "succeeded" : "declined"} />
      <div>
        <b>{title}</b>
        <p>{words}</p>
      </div>
    </li>
  );
  const pool = d.pools[0]?.pool ?? "none";
  return (
    <Panel title="How its pool was found">
      <ul className={styles.steps}>
        {step(
          d.rule === "binding",
          "Explicit binding",
          d.rule === "binding" ? `${row.app} is bound to ${d.pools.map((p) => p.pool).join(", ")}` : `${row.app} has none`,
        )}
        {step(
          d.rule === "owner_pool",
          "Owner's pool",
          d.rule === "owner_pool" ? `${ownerOf(pool)}so ${pool}` : d.rule === "no_owner" ? `${row.app} has no owner, so ${pool}` : "not asked",
        )}
        {step(d.fallbackAllowed, "Fallback to default", d.fallbackAllowed ? "allowed, and default can't take it either" : "off")}
      </ul>
    </Panel>
  );
}

/** Reasons that are states of the node have the state's color; the others take turns. */
const stateTones: Record<string, string> = {
  lease: "lost",
  unhealthy: "suspect",
  quarantine: "cordoned",
  draining: "draining",
  cordoned: "cordoned",
  auto_hold: "cordoned",
};
const toneOf = (reason: string, i: number) => styles[stateTones[reason] ?? (i % 2 === 0 ? "used" : "hatch")];

/** Asked anew while the job waits. */
export function useExplanation(row: JobRow) {
  const stale = useStale();
  return useQuery({
    queryKey: ["explain", row.id, row.reason],
    queryFn: () => getExplanation(row.id),
    enabled: !stale,
    refetchInterval: stale ? false : 5_000,
    placeholderData: (old) => old,
  });
}

/** What blocks a job that waits: every reason of every node, as it is now. */
export function WhyWaiting({ row }: { row: JobRow }) {
  const stale = useStale();
  const explained = useExplanation(row);
  const e = explained.data;
  const again = (
    <Button tone="link" onPress={() => void explained.refetch()} isDisabled={stale}>
      Explain now
    </Button>
  );
  return (
    <Panel title="Why it waits" flush side={again}>
      {explained.error && !e ? (
        <Failed error={explained.error} again={() => void explained.refetch()} />
      ) : e ? (
        <Blocks e={e} row={row} />
      ) : (
        <div className={styles.pad}>
          <Gray lines={3} wide={320} />
        </div>
      )}
    </Panel>
  );
}

function Blocks({ e, row }: { e: Explanation; row: JobRow }) {
  return (
    <>
      {e.pools.map((p) => (
        <div key={p.pool}>
          <div className={styles.pad}>
            <p className={styles.sentence}>
              <Glyph of={p.candidates > 0 ? "queued" : "critical"} size={14} />{" "}
              <b>
                {count(p.candidates)} of {plural(p.nodes, "node")} in {p.pool} can take this job
              </b>
            </p>
            <p className={styles.small}>
              {p.nodes === 0 ? "The pool has no nodes." : "Checked again at every change of the pool."} Last at {moment(e.at)}.
            </p>
            {p.reasons.length > 0 && (
              <div className={styles.blocks} aria-hidden="true">
                {inOrder(p).map((r, i) => (
                  <i key={r.reason} className={toneOf(r.reason, i)} style={{ flexGrow: r.nodes }} />
                ))}
              </div>
            )}
          </div>
          {p.reasons.length > 0 && <Blocked pool={p} />}
        </div>
      ))}
      {e.pools.length === 0 && <Empty title={`${row.app} resolves to no pool`}>A superadmin can bind it to one.</Empty>}
    </>
  );
}

const inOrder = (pool: PoolExplanation) => pool.reasons.toSorted((a, b) => byReason(a.reason, b.reason));

function Blocked({ pool }: { pool: PoolExplanation }) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Why the nodes of {pool.pool} can't take it; one node may stand under several reasons</caption>
      <thead>
        <tr>
          <th scope="col">Nodes</th>
          <th scope="col">Reason</th>
          <th scope="col">In words</th>
          <th scope="col">Which</th>
        </tr>
      </thead>
      <tbody>
        {inOrder(pool).map((r, i) => (
          <tr key={r.reason}>
            <td>
              <b>{count(r.nodes)}</b>
            </td>
            <td>
              <i className={`${styles.swatch} ${toneOf(r.reason, i)}`} aria-hidden="true" />
              {r.reason}
            </td>
            <td>{reasonIn(r.reason)}</td>
            <td>
              <Which ids={r.nodeIds ?? []} pool={pool.pool} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Which({ ids, pool }: { ids: string[]; pool: string }) {
  return (
    <span className={styles.which}>
      {ids.slice(0, 2).map((id) => (
        <Link key={id} to="/nodes/$id" params={{ id }} className="mono">
          {id}
        </Link>
      ))}
      {ids.length > 2 && (
        <Link to="/nodes" search={{ q: `pool:${pool}` }} data-link>
          +{ids.length - 2}
        </Link>
      )}
    </span>
  );
}
