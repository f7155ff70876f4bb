import type { Usage } from "../api/documents";
import { count, duration, plural } from "../format";
import { useNow } from "../live/live";
import type { Live } from "../live/store";
import { nodeState } from "../state";
import { CapacityBar, Segments } from "../ui/bars";
import { Figure, Strip } from "../ui/Panel";
import type { NodeRow, PoolRow } from "../wire/messages";
import { states, sum } from "./pool";
import styles from "./poolpage.module.css";
import { hours, shareOf } from "./usage";

export interface PoolNumbersProps {
  pool: Live<PoolRow>;
  nodes: NodeRow[];
  /** Of the days that the page asked for; undefined: not known. */
  usage: Usage[] | undefined;
  apps: ReadonlySet<string>;
}

/** What a pool has, what it does, and how much of its apps' work ran elsewhere. */
export function PoolNumbers({ pool, nodes, usage, apps }: PoolNumbersProps) {
  const now = useNow();
  const used = pool.slots_total - pool.slots_free - pool.slots_out_of_use;
  const oldest = pool.oldest_wait_ms < 0 ? undefined : pool.oldest_wait_ms + Math.max(0, now - pool.received);
  const share = usage && shareOf(usage, pool.id, apps);
  return (
    <div className={styles.numbers}>
      <Strip>
        <Figure label="Free slots" value={count(pool.slots_free)} note={`of ${count(pool.slots_total)}`}>
          <CapacityBar used={used} out={pool.slots_out_of_use} total={pool.slots_total} />
        </Figure>
        <Figure label="Nodes" value={count(sum(pool.nodes))} note={stateWords(pool)}>
          <Segments parts={states(pool.nodes)} />
        </Figure>
        <Figure label="Running" value={count(pool.running)} note={onDraining(nodes)} />
        <Figure label="Queued" value={count(pool.queued)} note={oldest === undefined ? "none waits" : `oldest ${duration(oldest)}`} />
        <Figure
          label="Ran as fallback, 2 days"
          short="As fallback, 2 days"
          value={share ? percent(share.percent) : "—"}
          note={share && `of ${hours(share.slotHours)} slot-h`}
        />
      </Strip>
    </div>
  );
}

/** 2.1% */
export const percent = (n: number) => `${n > 0 && n < 10 ? n.toFixed(1) : Math.round(n)}%`;

/** The first two states in words; how many are in none of these, so that the sum is right. */
function stateWords(pool: PoolRow): string {
  const all = states(pool.nodes);
  const rest = all.slice(2).reduce((n, s) => n + s.n, 0);
  const words = all.slice(0, 2).map((s) => `${count(s.n)} ${s.state}`);
  return [...words, ...(all.length === 3 ? [`${count(rest)} ${all[2]?.state}`] : rest > 0 ? [`${count(rest)} other`] : [])].join(", ");
}

function onDraining(nodes: NodeRow[]): string | undefined {
  const n = nodes.reduce((all, node) => all + (nodeState(node) === "draining" ? node.running.length : 0), 0);
  return n > 0 ? `${count(n)} on draining` : undefined;
}

/** 9 of 14 nodes */
export const notReady = (pool: PoolRow) => {
  const all = sum(pool.nodes) - pool.nodes.left;
  const away = all - pool.nodes.ready;
  return { all, away, percent: all > 0 ? (away / all) * 100 : 0, words: `${count(away)} of ${plural(all, "node")}` };
};
