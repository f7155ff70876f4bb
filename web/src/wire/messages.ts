// Written by `go run ./scripts/gen` from shared/wire; do not edit.
import { bool, fields, int, list, type Shape, str } from "./shape";

/** Filter narrows the topic nodes; empty fields let everything through. State is a lease state or one of the states above, whatever the lease. */
export interface Filter {
  pool: string;
  state: string;
}
export const filterShape: Shape<Filter> = fields<Filter>({
  pool: str,
  state: str,
});

/** Subscribe asks for a topic; a second one for the same topic begins it anew. */
export interface Subscribe {
  topic: string;
  filter: Filter;
}
export const subscribeShape: Shape<Subscribe> = fields<Subscribe>({
  topic: str,
  filter: filterShape,
});

/** More asks for the next part of a snapshot, counted from 0. */
export interface More {
  topic: string;
  part: number;
}
export const moreShape: Shape<More> = fields<More>({
  topic: str,
  part: int,
});

/** Unsubscribe ends a topic. */
export interface Unsubscribe {
  topic: string;
}
export const unsubscribeShape: Shape<Unsubscribe> = fields<Unsubscribe>({
  topic: str,
});

/** Ping asks for a Pong: a browser's code can't see those of the WebSocket. */
export type Ping = Record<string, never>;
export const pingShape: Shape<Ping> = fields<Ping>({});

/** Pong answers a Ping. */
export type Pong = Record<string, never>;
export const pongShape: Shape<Pong> = fields<Pong>({});

/** ConsoleTimes are milliseconds. A console that heard nothing for two and a half ticks pings; for Stale, its data are stale and it dials anew. */
export interface ConsoleTimes {
  tick_ms: number;
  stale_ms: number;
}
export const consoleTimesShape: Shape<ConsoleTimes> = fields<ConsoleTimes>({
  tick_ms: int,
  stale_ms: int,
});

/** WelcomeConsole is the first message to a console: who it is. */
export interface WelcomeConsole {
  user: string; // id
  name: string;
  roles: string[];
  version: string; // of the server
  times: ConsoleTimes;
}
export const welcomeConsoleShape: Shape<WelcomeConsole> = fields<WelcomeConsole>({
  user: str,
  name: str,
  roles: list(str),
  version: str,
  times: consoleTimesShape,
});

/** NodeCounts are nodes by lease state. Held ones (quarantined, draining, cordoned or on automatic hold, each counted under the first of these) and unhealthy ones are among the ready ones; one that is both is held. */
export interface NodeCounts {
  ready: number;
  suspect: number;
  lost: number;
  left: number;
  new: number;
  quarantined: number;
  draining: number;
  cordoned: number;
  auto_held: number;
  unhealthy: number;
}
export const nodeCountsShape: Shape<NodeCounts> = fields<NodeCounts>({
  ready: int,
  suspect: int,
  lost: int,
  left: int,
  new: int,
  quarantined: int,
  draining: int,
  cordoned: int,
  auto_held: int,
  unhealthy: int,
});

/** FleetRow is the fleet's totals; its id is "fleet". Used + out of use + free slots are the total. */
export interface FleetRow {
  id: string;
  nodes: NodeCounts;
  slots_total: number;
  slots_free: number;
  slots_out_of_use: number;
  queued: number;
  overdue: number; // of the queued: past their pool's threshold
  running: number;
  placed: number; // in the last five minutes; the waits are theirs
  wait_p50_ms: number;
  wait_p95_ms: number;
  placements: number; // that last
  frozen_ms: number;
  frozen_for_ms: number;
  frozen_by: string;
}
export const fleetRowShape: Shape<FleetRow> = fields<FleetRow>({
  id: str,
  nodes: nodeCountsShape,
  slots_total: int,
  slots_free: int,
  slots_out_of_use: int,
  queued: int,
  overdue: int,
  running: int,
  placed: int,
  wait_p50_ms: int,
  wait_p95_ms: int,
  placements: int,
  frozen_ms: int,
  frozen_for_ms: int,
  frozen_by: str,
});

/** PoolRow is one pool with its sums, as in FleetRow. OldestWait is the age of its oldest waiting job; -1: none waits. Spark is how many jobs were queued, minute by minute, at most the 60 last, oldest first. */
export interface PoolRow {
  id: string;
  name: string;
  kind: string;
  state: string;
  canary: boolean;
  nodes: NodeCounts;
  slots_total: number;
  slots_free: number;
  slots_out_of_use: number;
  queued: number;
  overdue: number;
  oldest_wait_ms: number;
  running: number;
  spark: number[];
  threshold_queue_wait_ms: number;
  threshold_free_slots: number;
  threshold_not_ready_pct: number;
  version: number; // of the record, for If-Match
  mass_loss_ms: number;
}
export const poolRowShape: Shape<PoolRow> = fields<PoolRow>({
  id: str,
  name: str,
  kind: str,
  state: str,
  canary: bool,
  nodes: nodeCountsShape,
  slots_total: int,
  slots_free: int,
  slots_out_of_use: int,
  queued: int,
  overdue: int,
  oldest_wait_ms: int,
  running: int,
  spark: list(int),
  threshold_queue_wait_ms: int,
  threshold_free_slots: int,
  threshold_not_ready_pct: int,
  version: int,
  mass_loss_ms: int,
});

/** RowHold is one hold of a node. */
export interface RowHold {
  kind: string;
  owner: string;
  actor: string;
  reason: string;
  left_ms: number;
}
export const rowHoldShape: Shape<RowHold> = fields<RowHold>({
  kind: str,
  owner: str,
  actor: str,
  reason: str,
  left_ms: int,
});

/** Share is what a node has of one thing beside slots, and what of it is reserved: memory of a domain in MiB, a resource in units. */
export interface Share {
  name: string;
  total: number;
  reserved: number;
}
export const shareShape: Shape<Share> = fields<Share>({
  name: str,
  total: int,
  reserved: int,
});

/** NodeWork is one attempt that the server holds on a node. App, Runner and StartedAt stand in the topic of the node alone, of work that the console may see. */
export interface NodeWork {
  job: string;
  attempt: number;
  phase: "accepted" | "running" | "stopping";
  percent: number;
  slots: number;
  app: string;
  runner: string;
  started_at: number; // 0: not yet
}
export const nodeWorkShape: Shape<NodeWork> = fields<NodeWork>({
  job: str,
  attempt: int,
  phase: str as Shape<"accepted" | "running" | "stopping">,
  percent: int,
  slots: int,
  app: str,
  runner: str,
  started_at: int,
});

/** Pair is one label, endpoint or parameter. Lists of pairs stand where a map would let a hostile key such as __proto__ reach a browser. */
export interface Pair {
  n: string;
  v: string;
}
export const pairShape: Shape<Pair> = fields<Pair>({
  n: str,
  v: str,
});

/** LeaseChange is one change of a node's lease. Cause is a word: hello, heartbeat, silence, disconnected, restart (of the server), left. At is unix milliseconds. */
export interface LeaseChange {
  state: string;
  cause: string;
  at_ms: number;
}
export const leaseChangeShape: Shape<LeaseChange> = fields<LeaseChange>({
  state: str,
  cause: str,
  at_ms: int,
});

/** NodeRow is one node. Since is the age of its lease state, LastSeen that of its last frame; -1: never. Epoch 0: it never had a session. Timeline stands in the topic of the node alone: at most 50 changes, newest last. */
export interface NodeRow {
  id: string;
  pool: string;
  owner: string; // id of a user, or empty
  role: string;
  region: string;
  lease: string;
  since_ms: number;
  last_seen_ms: number;
  holds: RowHold[];
  accepting: boolean;
  accept_reason: string;
  healthy: boolean;
  health_reasons: string[];
  slots_total: number;
  slots_used: number;
  memory: Share[]; // by domain; host is the machine's own
  resources: Share[];
  running: NodeWork[];
  placements: number; // that last there
  backend: string;
  runners: string[];
  epoch: number;
  agent_version: string;
  os: string;
  arch: string;
  machine_id: string;
  address: string;
  endpoints: Pair[];
  labels: Pair[];
  load_milli: number; // load average x 1000
  memory_mib: number; // in use
  spooled: number;
  skew_ms: number; // of its clock against the server's, ahead when positive
  version: number; // of the record, for If-Match
  timeline: LeaseChange[];
}
export const nodeRowShape: Shape<NodeRow> = fields<NodeRow>({
  id: str,
  pool: str,
  owner: str,
  role: str,
  region: str,
  lease: str,
  since_ms: int,
  last_seen_ms: int,
  holds: list(rowHoldShape),
  accepting: bool,
  accept_reason: str,
  healthy: bool,
  health_reasons: list(str),
  slots_total: int,
  slots_used: int,
  memory: list(shareShape),
  resources: list(shareShape),
  running: list(nodeWorkShape),
  placements: int,
  backend: str,
  runners: list(str),
  epoch: int,
  agent_version: str,
  os: str,
  arch: str,
  machine_id: str,
  address: str,
  endpoints: list(pairShape),
  labels: list(pairShape),
  load_milli: int,
  memory_mib: int,
  spooled: int,
  skew_ms: int,
  version: int,
  timeline: list(leaseChangeShape),
});

/** JobRow is one job. Waits says in words why it waits or why it runs where it runs, in the topic of the job alone. */
export interface JobRow {
  id: string;
  app: string;
  runner: string;
  state: string;
  reason: string;
  detail: string;
  pool: string;
  node: string;
  attempt: number;
  percent: number;
  fallback: boolean;
  priority: number;
  created_at: number;
  started_at: number;
  ended_at: number;
  not_before: number; // 0: it may run at once
  waits: string;
}
export const jobRowShape: Shape<JobRow> = fields<JobRow>({
  id: str,
  app: str,
  runner: str,
  state: str,
  reason: str,
  detail: str,
  pool: str,
  node: str,
  attempt: int,
  percent: int,
  fallback: bool,
  priority: int,
  created_at: int,
  started_at: int,
  ended_at: int,
  not_before: int,
  waits: str,
});

/** AlarmRow is one alarm that lasts. Age and Last are the ages of its raising and of when it was last seen; the lists of waiting work are read over REST. */
export interface AlarmRow {
  id: string;
  kind: string;
  severity: string; // critical, warning
  role: string;
  pool: string;
  app: string;
  node: string;
  count: number;
  age_ms: number;
  last_ms: number;
  waiting: number;
  detail: string;
  acked_by: string; // who acknowledged it, or empty
  silenced_for_ms: number;
}
export const alarmRowShape: Shape<AlarmRow> = fields<AlarmRow>({
  id: str,
  kind: str,
  severity: str,
  role: str,
  pool: str,
  app: str,
  node: str,
  count: int,
  age_ms: int,
  last_ms: int,
  waiting: int,
  detail: str,
  acked_by: str,
  silenced_for_ms: int,
});

/** PlacementRow is one placement that lasts. Nodes are by rank; Left is how long until it expires unless it is renewed. */
export interface PlacementRow {
  id: string;
  app: string;
  role: string;
  key: string;
  purpose: string;
  state: string;
  nodes: string[];
  pools: string[]; // of the nodes as they were placed
  slots: number; // of each node
  fallback: boolean;
  created_at: number;
  left_ms: number;
}
export const placementRowShape: Shape<PlacementRow> = fields<PlacementRow>({
  id: str,
  app: str,
  role: str,
  key: str,
  purpose: str,
  state: str,
  nodes: list(str),
  pools: list(str),
  slots: int,
  fallback: bool,
  created_at: int,
  left_ms: int,
});

/** Snapshot is one part of all rows of a topic as they were at Rev. Deltas follow the last part. */
export interface Snapshot {
  topic: string;
  rev: number;
  part: number;
  last: boolean;
  fleet: FleetRow[];
  pools: PoolRow[];
  nodes: NodeRow[];
  jobs: JobRow[];
  alarms: AlarmRow[];
  placements: PlacementRow[];
}
export const snapshotShape: Shape<Snapshot> = fields<Snapshot>({
  topic: str,
  rev: int,
  part: int,
  last: bool,
  fleet: list(fleetRowShape),
  pools: list(poolRowShape),
  nodes: list(nodeRowShape),
  jobs: list(jobRowShape),
  alarms: list(alarmRowShape),
  placements: list(placementRowShape),
});

/** Delta leads from the rows at Prev to those at Rev: whole rows that are new or changed, and the ids of those that are gone. A console that does not hold Prev subscribes anew. */
export interface Delta {
  topic: string;
  prev: number;
  rev: number;
  fleet: FleetRow[];
  pools: PoolRow[];
  nodes: NodeRow[];
  jobs: JobRow[];
  alarms: AlarmRow[];
  placements: PlacementRow[];
  deletes: string[];
}
export const deltaShape: Shape<Delta> = fields<Delta>({
  topic: str,
  prev: int,
  rev: int,
  fleet: list(fleetRowShape),
  pools: list(poolRowShape),
  nodes: list(nodeRowShape),
  jobs: list(jobRowShape),
  alarms: list(alarmRowShape),
  placements: list(placementRowShape),
  deletes: list(str),
});

/** Error tells the other side what was wrong with a message. */
export interface Error {
  code: string;
  detail: string;
  fatal: boolean;
  retry_after_ms: number;
}
export const errorShape: Shape<Error> = fields<Error>({
  code: str,
  detail: str,
  fatal: bool,
  retry_after_ms: int,
});

/** The body of each message, by its type. */
export interface Bodies {
  subscribe: Subscribe;
  more: More;
  unsubscribe: Unsubscribe;
  ping: Ping;
  pong: Pong;
  welcome_console: WelcomeConsole;
  snapshot: Snapshot;
  delta: Delta;
  error: Error;
}

/** What each message's body must look like. */
export const shapes: { [T in keyof Bodies]: Shape<Bodies[T]> } = {
  subscribe: subscribeShape,
  more: moreShape,
  unsubscribe: unsubscribeShape,
  ping: pingShape,
  pong: pongShape,
  welcome_console: welcomeConsoleShape,
  snapshot: snapshotShape,
  delta: deltaShape,
  error: errorShape,
};
