import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getDecision, getExplanation } from "../api/calls";
import { Refusal } from "../api/client";
import type { Decision, Explanation, NodeExplanation, PoolDecision, PoolExplanation } from "../api/documents";
import { count, moment, plural } from "../format";
import { useStale } from "../live/live";
import { isOpen } from "../state";
import { byReason, reasonIn } from "../strings";
import { Button } from "../ui/controls";
import { Glyph } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import styles from "./job.module.css";

/** What is known of why a job is where it is. */

export function useDecision(row: JobRow) {
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
export function WhyThisNode({ row, slots }: { row: JobRow; slots: number | undefined }) {
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
  return <Chosen row={row} d={d} slots={slots} />;
}

/** Why the job went to its node, and why not to the others: as it was then, or as it is now. */
function Chosen({ row, d, slots }: { row: JobRow; d: Decision; slots: number | undefined }) {
  const stale = useStale();
  const now = useQuery({ queryKey: ["explain", row.id, "now"], queryFn: () => getExplanation(row.id), enabled: false });
  const last = d.pools[d.pools.length - 1];
  const e = isOpen(row) ? now.data : undefined;
  const sum = (pools: { nodes: number; candidates: number }[]) => pools.reduce((n, p) => n + p.nodes - p.candidates, 0);
  const others = sum(e?.pools ?? d.pools);
  const pools = d.pools.map((p) => p.pool).join(", ");
  const explain = isOpen(row) && (
    <Button tone="link" onPress={() => void now.refetch()} isDisabled={stale || now.isFetching}>
      Explain now
    </Button>
  );
  return (
    <Panel title="Why this node" note={`at ${moment(d.at)}`} side={explain} flush>
      <div className={styles.pad}>
        <p className={styles.sentence}>
          {d.node} had the most free slots
          {slots !== undefined && (
            <>
              , <b>{count(d.remainingSlots + slots)}</b>,
            </>
          )}{" "}
          of <b>{count(last?.candidates ?? 0)}</b> {last?.candidates === 1 ? "node" : "nodes"} that could take it.
        </p>
        <p className={styles.small}>
          {d.tieBreak && "Others had as many; the lowest id won. "}
          {ruleWords(d, row.app)} {fallbackWords(d)}
        </p>
      </div>
      {now.error && isOpen(row) && <Failed error={now.error} again={() => void now.refetch()} />}
      <h3 className={styles.subhead}>
        {others > 0 ? `Why not ${e ? "" : "the other "}${count(others)}${e ? ` now, at ${moment(e.at)}` : ""}` : `No node ${e ? "is" : "was"} turned away`}
        <span>
          of {count((e?.pools ?? d.pools).reduce((n, p) => n + p.nodes, 0))} in {pools}
        </span>
      </h3>
      {others > 0 && (e ? <RejectedNow pools={e.pools} /> : <Rejected pools={d.pools} />)}
    </Panel>
  );
}

/** How many nodes each first reason took. */
function Rejected({ pools }: { pools: PoolDecision[] }) {
  const list = pools.flatMap((p) =>
    Object.entries(p.rejected)
      .filter(([, n]) => n > 0)
      .sort(([a], [b]) => byReason(a, b))
      .map(([reason, nodes]) => ({ pool: p.pool, reason, nodes })),
  );
  return <Reasons list={list} several={pools.length > 1} />;
}

/** The same as the fleet is now, with the nodes where they may be seen. */
function RejectedNow({ pools }: { pools: PoolExplanation[] }) {
  const list = pools.flatMap((p) => p.first.map((r) => ({ ...r, pool: p.pool })));
  return <Reasons list={list} several={pools.length > 1} />;
}

function Reasons({ list, several }: { list: (NodeExplanation & { pool: string })[]; several: boolean }) {
  return (
    <ul className={styles.reasons}>
      {list.map((r) => (
        <li key={`${r.pool} ${r.reason}`}>
          <b>{count(r.nodes)}</b>
          <span>{r.reason}</span>
          <span className={styles.quiet}>
            {r.words ?? (reasonIn(r.reason) === r.reason ? "" : reasonIn(r.reason))}
            {several && `, in ${r.pool}`}
            {r.nodeIds && <Which ids={r.nodeIds} pool={r.pool} />}
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
        {step(
          d.fallbackAllowed,
          "Fallback to default",
          d.fallbackAllowed ? "allowed, and default can't take it either" : `off: it is not switched on for ${row.app}`,
        )}
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

/** What blocks a job that waits: each node under its first reason, as it is now. */
export function WhyWaiting({ row }: { row: JobRow }) {
  const explained = useExplanation(row);
  const since = useDecision(row).data?.at;
  const e = explained.data;
  return (
    <Panel label="Why it waits" flush>
      {explained.error && !e ? (
        <Failed error={explained.error} again={() => void explained.refetch()} />
      ) : e ? (
        <Blocks e={e} row={row} since={since} />
      ) : (
        <div className={styles.pad}>
          <Gray lines={3} wide={320} />
        </div>
      )}
    </Panel>
  );
}

function Blocks({ e, row, since }: { e: Explanation; row: JobRow; since: string | undefined }) {
  return (
    <>
      {e.pools.map((p) => (
        <div key={p.pool}>
          <div className={styles.pad}>
            <h2 className={styles.headline}>
              <Glyph of={p.candidates > 0 ? "queued" : "critical"} size={14} />
              <span>
                {count(p.candidates)} of {plural(p.nodes, "node")} in {p.pool} can take this job
              </span>
            </h2>
            <p className={styles.checked}>
              {p.nodes === 0 ? "The pool has no nodes." : `Checked again at every change of the pool, last at ${moment(e.at)}.`}
              {since && p.nodes > 0 && ` Same reasons since ${moment(since)}.`}
            </p>
            {p.first.length > 0 && (
              <div className={styles.blocks} aria-hidden="true">
                {p.first.map((r, i) => (
                  <i key={r.reason} className={toneOf(r.reason, i)} style={{ flexGrow: r.nodes }} />
                ))}
              </div>
            )}
          </div>
          {p.first.length > 0 && <Blocked pool={p} />}
        </div>
      ))}
      {e.pools.length === 0 && <Empty title={`${row.app} resolves to no pool`}>A superadmin can bind it to one.</Empty>}
    </>
  );
}

function Blocked({ pool }: { pool: PoolExplanation }) {
  return (
    <table className={`${styles.table} ${styles.blocked}`}>
      <caption className="visually-hidden">Why the nodes of {pool.pool} can't take it, each under its first reason</caption>
      <thead>
        <tr>
          <th scope="col">Nodes</th>
          <th scope="col">First reason</th>
          <th scope="col">In words</th>
          <th scope="col">Which</th>
        </tr>
      </thead>
      <tbody>
        {pool.first.map((r, i) => (
          <tr key={r.reason}>
            <td>
              <b>{count(r.nodes)}</b>
            </td>
            <td>
              <i className={`${styles.swatch} ${toneOf(r.reason, i)}`} aria-hidden="true" />
              {r.reason}
            </td>
            <td>{r.words ?? reasonIn(r.reason)}</td>
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
