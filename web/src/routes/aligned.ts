import type { UnresolvedPool } from "../api/documents";
import { plural } from "../format";
import type { PoolRow } from "../wire/messages";
import { sum } from "./pool";

/** Pools that have no node, those aside that are always there. */
export const emptyPools = (pools: PoolRow[]) =>
  pools.filter((p) => p.kind !== "default" && p.kind !== "unassigned" && sum(p.nodes) - p.nodes.left === 0).map((p) => p.id);

/** Whether every pool with nodes is resolved to; a canary pool is one on purpose. */
export function reachWords(unresolved: UnresolvedPool[], pools: PoolRow[]): { ok: boolean; text: string } {
  const canary = new Set(pools.filter((p) => p.canary).map((p) => p.id));
  const idle = unresolved.filter((u) => !canary.has(u.pool));
  if (idle.length > 0) {
    const names = idle.map((u) => `${u.pool} (${plural(u.nodes, "node")})`).join(", ");
    return { ok: false, text: `nothing resolves to ${names}` };
  }
  const aside = [...unresolved.map((u) => u.pool), "unassigned"];
  return { ok: true, text: `every pool with nodes is resolved to, ${aside.join(" and ")} aside` };
}
