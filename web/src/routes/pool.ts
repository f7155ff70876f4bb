import type { NodeState } from "../state";
import type { NodeCounts, PoolRow } from "../wire/messages";

/** What several pages say of a pool. */

export const sum = (n: NodeCounts) => n.ready + n.suspect + n.lost + n.left + n.new;

/** Those that get work. */
export const ready = (n: NodeCounts) => n.ready - n.quarantined - n.draining - n.cordoned - n.auto_held - n.unhealthy;

/** Nodes by the one word that state.ts has for each. */
export function states(n: NodeCounts): { state: NodeState; n: number }[] {
  const all: [NodeState, number][] = [
    ["ready", ready(n)],
    ["suspect", n.suspect],
    ["draining", n.draining],
    ["cordoned", n.cordoned],
    ["quarantined", n.quarantined],
    ["held", n.auto_held],
    ["unhealthy", n.unhealthy],
    ["lost", n.lost],
    ["new", n.new],
    ["left", n.left],
  ];
  return all.map(([state, n]) => ({ state, n })).filter((s) => s.n > 0);
}

export function kindWords(pool: Pick<PoolRow, "kind" | "id">): string {
  if (pool.kind === "user") return `user ${pool.id.replace("pool-", "")}`;
  return { default: "shared", unassigned: "never scheduled", named: "named" }[pool.kind] ?? pool.kind;
}

/** default first, unassigned last, the rest by name: what is listed never jumps. */
export function byPlace(a: Pick<PoolRow, "kind" | "id">, b: Pick<PoolRow, "kind" | "id">): number {
  const place = (p: Pick<PoolRow, "kind">) => (p.kind === "default" ? 0 : p.kind === "unassigned" ? 2 : 1);
  return place(a) - place(b) || a.id.localeCompare(b.id, "en", { numeric: true });
}
