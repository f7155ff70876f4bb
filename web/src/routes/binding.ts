import type { Binding, PoolExplanation } from "../api/documents";
import { count, plural } from "../format";
import { byReason, reasonIn } from "../strings";

/** Bindings in words, and their ordered lists. */

/** Up to so many pools stand in one. */
export const mostPools = 8;

export const everyRole = "every role";
export const roleWords = (role: string) => role || everyRole;

/** gpu-big, then pool-7; fallback off */
export const bindingWords = (b: Binding) => `${b.pools.join(", then ")}; fallback ${b.allowFallbackToDefault ? "allowed" : "off"}`;

/** The list with one entry a place further up (-1) or down (1). */
export function shifted(list: readonly string[], index: number, by: -1 | 1): string[] {
  const to = index + by;
  const next = [...list];
  const moved = next[index];
  const other = next[to];
  if (moved === undefined || other === undefined) return next;
  next[to] = moved;
  next[index] = other;
  return next;
}

/** 2 of 14 nodes in pool-7 could take it: 9 draining, 3 without a free slot */
export function poolWords(p: PoolExplanation): string {
  const reasons = p.reasons.toSorted((a, b) => byReason(a.reason, b.reason)).map((r) => `${count(r.nodes)} ${reasonIn(r.reason)}`);
  const why = reasons.length > 0 ? `: ${reasons.join(", ")}` : "";
  return `${count(p.candidates)} of ${plural(p.nodes, "node")} in ${p.pool} could take it${why}`;
}

/** A sentence begins with a capital and ends with a stop. */
export function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
