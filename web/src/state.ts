import { age, span } from "./format";
import type { FleetRow, JobRow, NodeRow, RowHold } from "./wire/messages";

/** One word for what a node or job is: the only place that decides it. */

export type NodeState = "ready" | "suspect" | "lost" | "left" | "new" | "draining" | "cordoned" | "quarantined" | "held" | "unhealthy";

/** In the order of the state chips. */
export const nodeStates: NodeState[] = ["ready", "suspect", "lost", "draining", "cordoned", "quarantined", "held", "unhealthy", "new", "left"];

const heldAs: [kind: string, state: NodeState][] = [
  ["quarantine", "quarantined"],
  ["drain", "draining"],
  ["cordon", "cordoned"],
  ["auto", "held"],
  ["deaf", "held"],
];

type Stated = Pick<NodeRow, "lease" | "holds" | "healthy" | "accepting">;

/** A lease that is not ready says more than a hold, a hold more than health; one that takes no work is not healthy. */
export function nodeState(node: Stated): NodeState {
  if (node.lease !== "ready") return node.lease as NodeState;
  for (const [kind, state] of heldAs) if (node.holds.some((h) => h.kind === kind)) return state;
  return node.healthy && node.accepting ? "ready" : "unhealthy";
}

/** Free slots that can't take work now: also those of a node that nothing resolves to, as in its pool's sum. */
export function outOfUse(node: Stated & Pick<NodeRow, "pool" | "slots_total" | "slots_used">): number {
  return nodeState(node) === "ready" && node.pool !== "unassigned" ? 0 : Math.max(0, node.slots_total - node.slots_used);
}

/** Who put it there: user 1, the node. */
const holder = (hold: RowHold) => hold.actor.replace(/^u:/, "user ") || (hold.owner === "self" ? "the node" : hold.owner);

/** drain 10m, user 1: kernel update. What is left is counted on by the age of the row. */
export function holdText(hold: RowHold, elapsed = 0): string {
  const left = hold.left_ms < 0 ? "" : hold.left_ms > elapsed ? ` ${age(hold.left_ms - elapsed)}` : " due";
  const who = hold.owner === "auto" ? "" : `, ${holder(hold)}`;
  return `${hold.kind}${left}${who}${hold.reason ? `: ${hold.reason}` : ""}`;
}

/** drain 10m, admin: without the reason, but where that is all there is to say. */
export function holdShort(hold: RowHold, elapsed = 0): string {
  if (hold.owner !== "operator" && hold.reason) return hold.reason;
  return holdText({ ...hold, reason: "" }, elapsed);
}

/** 2m 05s ahead of the server's: how far a node's clock is off. Nothing is decided by it. */
export const clockWords = (ms: number) => `${span(Math.abs(ms))} ${ms > 0 ? "ahead of" : "behind"} the server's`;

/** The operator's own, cordon and drain, are what Uncordon lifts. */
export const operatorHolds = (node: Pick<NodeRow, "holds">) => node.holds.filter((h) => h.owner === "operator");

const freezes: Record<string, string> = {
  database: "the database was away",
  standstill: "the server stood still",
  restart: "the server has begun anew",
};

/** Why no lease runs out now. */
export const frozenWords = (fleet: Pick<FleetRow, "frozen_by" | "frozen_for_ms">) =>
  fleet.frozen_by === "database" && fleet.frozen_for_ms === 0 ? "the database is away" : (freezes[fleet.frozen_by] ?? fleet.frozen_by);

export const terminal = new Set(["succeeded", "failed", "timed_out", "canceled", "expired", "dead"]);
export const isOpen = (job: Pick<JobRow, "state">) => !terminal.has(job.state);

/** A queued job that waits for a person is held: none of its nodes will free it. */
export const jobState = (job: Pick<JobRow, "state" | "reason">) => (job.state === "queued" && job.reason === "held" ? "held" : job.state);
