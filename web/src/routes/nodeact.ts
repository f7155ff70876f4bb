import { Refusal } from "../api/client";
import { plural } from "../format";
import { nodeState } from "../state";
import type { NodeRow } from "../wire/messages";

/** What can be done to nodes, in words. */

export type NodeAct = "move" | "drain" | "cordon";

export const verbs: Record<NodeAct, string> = { move: "Move", drain: "Drain", cordon: "Cordon" };

/** A node as it was when it was chosen. */
export interface Chosen {
  id: string;
  pool: string;
  state: string;
  version: number;
  /** Another one when what a dry run depends on has changed. */
  stamp: string;
}

export function chosenOf(n: NodeRow): Chosen {
  const state = nodeState(n);
  return { id: n.id, pool: n.pool, state, version: n.version, stamp: `${n.id}/${n.version}/${state}` };
}

/** Move 2 nodes out of pool-7 */
export function titleOf(act: NodeAct, nodes: Chosen[]): string {
  const what = nodes.length === 1 && nodes[0] ? nodes[0].id : plural(nodes.length, "node");
  const pools = new Set(nodes.map((n) => n.pool));
  return act === "move" && pools.size === 1 ? `Move ${what} out of ${[...pools][0]}` : `${verbs[act]} ${what}`;
}

/** What becomes of the work that runs there. */
export function workWords(act: NodeAct, n: number, pool: string, deadline: string): string {
  const one = n === 1;
  if (act === "move") return `${one ? "runs" : "run"} on, ${one ? "its result counts" : "results count"}, pool stays ${pool}`;
  if (act === "drain" && deadline) return `may run for ${deadline}, then ${one ? "it is" : "they are"} canceled and placed anew`;
  return one ? "runs on to its end" : "run on to their end";
}

/** What of the selection is not as it was when it was chosen; the dry run is of now. */
export function news(chosen: Chosen[], now: NodeRow[]): string | undefined {
  const rows = new Map(now.map((n) => [n.id, chosenOf(n)]));
  const told: string[] = [];
  for (const c of chosen) {
    const n = rows.get(c.id);
    if (!n) told.push(`${c.id} is gone`);
    else if (n.pool !== c.pool) told.push(`${c.id} is in ${n.pool} now`);
    else if (n.state !== c.state) told.push(`${c.id} is ${n.state.replace("_", " ")} now`);
    else if (n.version !== c.version) told.push(`the record of ${c.id} was changed`);
  }
  if (told.length === 0) return undefined;
  const more = told.length > 3 ? `, and ${plural(told.length - 3, "more change")}` : "";
  return `Meanwhile ${told.slice(0, 3).join(", ")}${more}. The dry run was made again.`;
}

/** 2 nodes are in unassigned now. */
export function done(act: NodeAct, ids: string[], to: string): string {
  const one = ids.length === 1;
  const who = one ? ids[0] : plural(ids.length, "node");
  if (act === "move") return `${who} ${one ? "is" : "are"} in ${to} now.`;
  if (act === "drain") return `${who} ${one ? "is" : "are"} draining.`;
  return `${who} ${one ? "gets" : "get"} no new work.`;
}

/** Why one of several was refused. */
export function errorWords({ id, error }: { id: string; error: unknown }): unknown {
  return error instanceof Refusal ? new Refusal(error.status, error.code, `${id}: ${error.detail}`, error.requestId) : error;
}
