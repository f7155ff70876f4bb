import type { AgentOptions, Fleet } from "./fleet";
import { until } from "./fleet";

/** A fleet brought into its bad states for real: what the pages of both the tests and the pictures show. */

/** Leases in seconds, so that what takes a minute in life takes a moment here. */
export const quickLeases = { ROCKPOOL_LEASE_HEARTBEAT: "1s", ROCKPOOL_LEASE_SUSPECT: "4s", ROCKPOOL_LEASE_LOST: "15s", ROCKPOOL_LEASE_REDIAL_WINDOW: "1s" };

interface Node {
  accepting: boolean;
  epoch: number;
  claimants?: { id: string }[];
}

const node = (fleet: Fleet, id: string) => fleet.call<Node>("GET", `/v1/nodes/${id}`);

/** Eleven nodes: one may leave the pool, and ten are as many as it must have to lose most of them. */
export async function elevenNodes(fleet: Fleet): Promise<AgentOptions> {
  const options = { license: await fleet.license("1", 20), slots: 2 };
  const ids = Array.from({ length: 11 }, (_, i) => `edge-${String(i + 1).padStart(2, "0")}`);
  for (const id of ids) fleet.startAgent(id, options);
  for (const id of ids) await fleet.awaitLease(id, "ready");
  return options;
}

/** A node on which nothing can be started: its tool is gone, and it takes no more work. */
export async function takesNoWork(fleet: Fleet, id: string): Promise<void> {
  await fleet.app("alone");
  await fleet.call("PUT", `/v1/admin/nodes/${id}/pool`, { pool: "default", reason: "alone with an app" });
  fleet.breakTool(id);
  for (let i = 0; i < 3; i++) await fleet.call("POST", "/v1/jobs", { app: "alone", runner: "score" }); // a job keeps away from where it could not be started
  await until(`${id} takes no work`, async () => ((await node(fleet, id)).accepting ? undefined : true));
}

/** Two processes with one node's state: the copy took over, the first one came back with what is older. It answers the copy's name. */
export async function copied(fleet: Fleet, id: string, options: AgentOptions): Promise<string> {
  const copy = `${id}-copy`;
  const { epoch } = await node(fleet, id);
  fleet.copyAgent(id, copy, options);
  await until(`the copy of ${id} has its session`, async () => ((await node(fleet, id)).epoch > epoch ? true : undefined));
  await fleet.restartAgent(id); // else it waits for a minute
  await until(`both claim to be ${id}`, async () => ((await node(fleet, id)).claimants?.length === 2 ? true : undefined), 60_000);
  return copy;
}

/** Most of the pool goes at once. */
export async function massLoss(fleet: Fleet, ids: string[]): Promise<void> {
  await Promise.all(ids.map((id) => fleet.killAgent(id)));
  await until("a mass loss", async () => ((await fleet.call<{ massLossSince?: string }>("GET", "/v1/pools/pool-1")).massLossSince ? true : undefined));
}
