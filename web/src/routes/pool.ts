import type { NodeCounts, PoolRow } from "../wire/messages";

/** What several pages say of a pool. */

export const sum = (n: NodeCounts) => n.ready + n.suspect + n.lost + n.left + n.new;

export function kindWords(pool: PoolRow): string {
  if (pool.kind === "user") return `user ${pool.id.replace("pool-", "")}`;
  return { default: "shared", unassigned: "never scheduled", named: "named" }[pool.kind] ?? pool.kind;
}
