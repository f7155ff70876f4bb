import type { NodeCounts, PoolRow } from "../wire/messages";

/** What several pages say of a pool. */

export const sum = (n: NodeCounts) => n.ready + n.suspect + n.lost + n.left + n.new;

/** Those that get work. */
export const ready = (n: NodeCounts) => n.ready - n.held - n.unhealthy;

/** Nodes by the one word that state.ts has for each. */
export function states(n: NodeCounts): { state: string; n: number }[] {
  return [
    { state: "ready", n: ready(n) },
    { state: "suspect", n: n.suspect },
    { state: "held", n: n.held },
    { state: "unhealthy", n: n.unhealthy },
    { state: "lost", n: n.lost },
    { state: "new", n: n.new },
    { state: "left", n: n.left },
  ].filter((s) => s.n > 0);
}

export function kindWords(pool: PoolRow): string {
  if (pool.kind === "user") return `user ${pool.id.replace("pool-", "")}`;
  return { default: "shared", unassigned: "never scheduled", named: "named" }[pool.kind] ?? pool.kind;
}
