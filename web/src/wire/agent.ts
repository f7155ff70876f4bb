// Written by `go run ./scripts/gen` from shared/wire; do not edit.
import { bin, bool, fields, int, list, maybe, type Shape, str } from "./shape";

/** Accept answers an offer; work begins only after Start. */
export interface Accept {
  job: string;
  attempt: number;
}
export const acceptShape: Shape<Accept> = fields<Accept>({
  job: str,
  attempt: int,
});

/** Cancel asks for TERM, then after the grace KILL, to the whole process group. */
export interface Cancel {
  job: string;
  attempt: number;
  grace_ms: number;
}
export const cancelShape: Shape<Cancel> = fields<Cancel>({
  job: str,
  attempt: int,
  grace_ms: int,
});

/** Decline answers an offer that the node can't take. */
export interface Decline {
  job: string;
  attempt: number;
  reason: string;
}
export const declineShape: Shape<Decline> = fields<Decline>({
  job: str,
  attempt: int,
  reason: str,
});

/** Goodbye is the last message of a planned end. */
export interface Goodbye {
  kind: "stop" | "upgrade" | "left";
}
export const goodbyeShape: Shape<Goodbye> = fields<Goodbye>({
  kind: str as Shape<"stop" | "upgrade" | "left">,
});

/** RunningWork is one line of what a node runs. */
export interface RunningWork {
  job: string;
  attempt: number;
  phase: "accepted" | "running" | "stopping";
  percent: number;
}
export const runningWorkShape: Shape<RunningWork> = fields<RunningWork>({
  job: str,
  attempt: int,
  phase: str as Shape<"accepted" | "running" | "stopping">,
  percent: int,
});

/** Health as the node sees itself; a node with OK false gets no offers. */
export interface Health {
  ok: boolean;
  reasons: string[];
}
export const healthShape: Shape<Health> = fields<Health>({
  ok: bool,
  reasons: list(str),
});

/** Heartbeat says what is true of the node now; latest wins. */
export interface Heartbeat {
  accepting: boolean;
  reason: string;
  running: RunningWork[];
  spooled: number;
  health: Health;
  load: number; // load average x 1000
  memory: number; // MiB in use
  round_trip: number;
  unsaved: boolean;
  at: number;
}
export const heartbeatShape: Shape<Heartbeat> = fields<Heartbeat>({
  accepting: bool,
  reason: str,
  running: list(runningWorkShape),
  spooled: int,
  health: healthShape,
  load: int,
  memory: int,
  round_trip: int,
  unsaved: bool,
  at: int,
});

/** Hold is one reason why a node gets no new work. */
export interface Hold {
  kind: string;
  owner: string;
  reason: string;
}
export const holdShape: Shape<Hold> = fields<Hold>({
  kind: str,
  owner: str,
  reason: str,
});

/** CancelRef is a cancel repeated in a heartbeat's acknowledgement. */
export interface CancelRef {
  job: string;
  attempt: number;
  grace_ms: number;
}
export const cancelRefShape: Shape<CancelRef> = fields<CancelRef>({
  job: str,
  attempt: int,
  grace_ms: int,
});

/** AttemptRef names one attempt of one job: the key on which all correctness rests. */
export interface AttemptRef {
  job: string;
  attempt: number;
}
export const attemptRefShape: Shape<AttemptRef> = fields<AttemptRef>({
  job: str,
  attempt: int,
});

/** Reconnect asks the agent to dial anew after a delay (a planned stop). */
export interface Reconnect {
  delay_ms: number;
}
export const reconnectShape: Shape<Reconnect> = fields<Reconnect>({
  delay_ms: int,
});

/** HeartbeatAck is level-triggered: what must be true of the node is repeated here until it is. OK false means that the session is unknown: register again. */
export interface HeartbeatAck {
  ok: boolean;
  lease_ms: number;
  holds: Hold[];
  cancel: CancelRef[];
  void: AttemptRef[];
  reconnect: Reconnect | null;
}
export const heartbeatAckShape: Shape<HeartbeatAck> = fields<HeartbeatAck>({
  ok: bool,
  lease_ms: int,
  holds: list(holdShape),
  cancel: list(cancelRefShape),
  void: list(attemptRefShape),
  reconnect: maybe(reconnectShape),
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

/** Amount is so much of one named thing: a resource in units, a memory domain in MiB. */
export interface Amount {
  n: string;
  a: number;
}
export const amountShape: Shape<Amount> = fields<Amount>({
  n: str,
  a: int,
});

/** Capacity is what a node claims to have, or a job demands. Slots count whole slots, Resources are units by name, Memory is MiB by domain. */
export interface Capacity {
  slots: number;
  resources: Amount[];
  memory: Amount[];
}
export const capacityShape: Shape<Capacity> = fields<Capacity>({
  slots: int,
  resources: list(amountShape),
  memory: list(amountShape),
});

/** Hello opens a session, within 10 s of the upgrade. It has no pool: the control plane decides that. NodeID is a wish, heard at a first registration only. Chain is what the newest welcome gave: a copied state directory shows by it. */
export interface Hello {
  node_id: string;
  proto_min: number;
  proto_max: number;
  agent_version: string;
  os: string;
  arch: string;
  machine_id: string;
  boot_id: string;
  last_epoch: number;
  chain: string;
  role: string;
  region: string;
  endpoints: Pair[];
  backend: string;
  capacity: Capacity;
  runners: string[];
  labels: Pair[];
  running: RunningWork[];
  spooled: number;
}
export const helloShape: Shape<Hello> = fields<Hello>({
  node_id: str,
  proto_min: int,
  proto_max: int,
  agent_version: str,
  os: str,
  arch: str,
  machine_id: str,
  boot_id: str,
  last_epoch: int,
  chain: str,
  role: str,
  region: str,
  endpoints: list(pairShape),
  backend: str,
  capacity: capacityShape,
  runners: list(str),
  labels: list(pairShape),
  running: list(runningWorkShape),
  spooled: int,
});

/** Accelerator is one device that work can use beside the processor. Kind is a word such as gpu, video or npu, Model a text for people. */
export interface Accelerator {
  n: string;
  kind: string;
  model: string;
}
export const acceleratorShape: Shape<Accelerator> = fields<Accelerator>({
  n: str,
  kind: str,
  model: str,
});

/** MemoryDomain is memory that is shared by what stands in it: ram, or the memory of one accelerator. */
export interface MemoryDomain {
  n: string;
  kind: string;
  total: number; // MiB
}
export const memoryDomainShape: Shape<MemoryDomain> = fields<MemoryDomain>({
  n: str,
  kind: str,
  total: int,
});

/** NodeLink is a way from this node to another one. */
export interface NodeLink {
  peer: string; // node id
  kind: string;
  bandwidth: number; // Mbit/s
}
export const nodeLinkShape: Shape<NodeLink> = fields<NodeLink>({
  peer: str,
  kind: str,
  bandwidth: int,
});

/** DiskSpace of the directory that keeps artifacts, in MiB. */
export interface DiskSpace {
  total: number;
  free: number;
}
export const diskSpaceShape: Shape<DiskSpace> = fields<DiskSpace>({
  total: int,
  free: int,
});

/** CachedArtifact is a file that the node keeps; Size in bytes. */
export interface CachedArtifact {
  digest: string;
  size: number;
}
export const cachedArtifactShape: Shape<CachedArtifact> = fields<CachedArtifact>({
  digest: str,
  size: int,
});

/** Inventory is what a node has, beside what hello claims: after welcome, and when it changed. Rev rises with each change. It is for people and for planning, and admits nothing. Stale: a part could not be collected and says what it said before. */
export interface Inventory {
  rev: number;
  platform: string;
  archs: string[];
  accelerators: Accelerator[];
  memory: MemoryDomain[];
  links: NodeLink[];
  artifact_disk: DiskSpace;
  cached: CachedArtifact[];
  commands: string[];
  isolation: string[]; // what keeps jobs apart: user, cgroup, memory, processes
  stale: boolean;
}
export const inventoryShape: Shape<Inventory> = fields<Inventory>({
  rev: int,
  platform: str,
  archs: list(str),
  accelerators: list(acceleratorShape),
  memory: list(memoryDomainShape),
  links: list(nodeLinkShape),
  artifact_disk: diskSpaceShape,
  cached: list(cachedArtifactShape),
  commands: list(str),
  isolation: list(str),
  stale: bool,
});

/** Log answers a LogRequest, which is answered once, and nothing else is sent. Offset is where Bytes begin: beyond the asked one when the node does not keep what stood between. No bytes: there was nothing new for a while, or End. */
export interface Log {
  job: string;
  attempt: number;
  stream: "output";
  offset: number;
  bytes: Uint8Array;
  end: boolean; // the attempt does not run here any more
}
export const logShape: Shape<Log> = fields<Log>({
  job: str,
  attempt: int,
  stream: str as Shape<"output">,
  offset: int,
  bytes: bin,
  end: bool,
});

/** LogRequest asks for at most Max bytes of a running attempt's log, from Offset on. One request is open for an attempt: the latest one counts. */
export interface LogRequest {
  job: string;
  attempt: number;
  stream: "output";
  offset: number;
  max: number;
}
export const logRequestShape: Shape<LogRequest> = fields<LogRequest>({
  job: str,
  attempt: int,
  stream: str as Shape<"output">,
  offset: int,
  max: int,
});

/** Input is a file that the agent fetches into the job's directory before start. Digest is "sha256:" and 64 hex digits, Size its length in bytes. */
export interface Input {
  n: string;
  digest: string;
  size: number;
}
export const inputShape: Shape<Input> = fields<Input>({
  n: str,
  digest: str,
  size: int,
});

/** Payload fills the declared parameters and inputs of a runner, nothing else. */
export interface Payload {
  params: Pair[];
  inputs: Input[];
}
export const payloadShape: Shape<Payload> = fields<Payload>({
  params: list(pairShape),
  inputs: list(inputShape),
});

/** RunLimits bound one attempt. RunMs 0: the runner's own timeout alone. */
export interface RunLimits {
  run_ms: number;
}
export const runLimitsShape: Shape<RunLimits> = fields<RunLimits>({
  run_ms: int,
});

/** Offer is committed to this node before it is sent. DeadlineMs is how long an answer is waited for. */
export interface Offer {
  job: string;
  attempt: number;
  app: string;
  runner: string;
  backend: string;
  payload: Payload;
  demands: Capacity;
  limits: RunLimits;
  deadline_ms: number;
}
export const offerShape: Shape<Offer> = fields<Offer>({
  job: str,
  attempt: int,
  app: str,
  runner: str,
  backend: str,
  payload: payloadShape,
  demands: capacityShape,
  limits: runLimitsShape,
  deadline_ms: int,
});

/** Progress is latest-wins and never written to the database. */
export interface Progress {
  job: string;
  attempt: number;
  percent: number;
  note: string;
}
export const progressShape: Shape<Progress> = fields<Progress>({
  job: str,
  attempt: int,
  percent: int,
  note: str,
});

/** Refused answers a hello that can't be taken. The codes are those of REST. */
export interface Refused {
  code: string;
  detail: string;
  retry_after_ms: number;
  fatal: boolean;
}
export const refusedShape: Shape<Refused> = fields<Refused>({
  code: str,
  detail: str,
  retry_after_ms: int,
  fatal: bool,
});

/** Output is one declared output file of an attempt. */
export interface Output {
  n: string;
  digest: string;
  size: number;
}
export const outputShape: Shape<Output> = fields<Output>({
  n: str,
  digest: str,
  size: int,
});

/** Result of an attempt: spooled on the node's disk before it is sent, resent until acknowledged. Output is a JSON document or empty; Head and Tail are the two ends of the log, together at most 64 KiB with Output. */
export interface Result {
  job: string;
  attempt: number;
  status: "succeeded" | "failed" | "timed_out" | "canceled";
  reason: string; // a reason code of core/fleet
  detail: string; // one line for people
  exit_code: number | null; // none: no program ran
  output: Uint8Array;
  head: Uint8Array;
  tail: Uint8Array;
  log_bytes: number; // of the whole log, kept or not
  outputs: Output[];
  fetch_ms: number;
  run_ms: number;
}
export const resultShape: Shape<Result> = fields<Result>({
  job: str,
  attempt: int,
  status: str as Shape<"succeeded" | "failed" | "timed_out" | "canceled">,
  reason: str,
  detail: str,
  exit_code: maybe(int),
  output: bin,
  head: bin,
  tail: bin,
  log_bytes: int,
  outputs: list(outputShape),
  fetch_ms: int,
  run_ms: int,
});

/** ResultAck answers a result. */
export interface ResultAck {
  job: string;
  attempt: number;
  verdict: "stored" | "duplicate" | "fenced" | "canceled";
}
export const resultAckShape: Shape<ResultAck> = fields<ResultAck>({
  job: str,
  attempt: int,
  verdict: str as Shape<"stored" | "duplicate" | "fenced" | "canceled">,
});

/** Rotate asks a node for a secret of its own making in place of the one it has; repeated after each welcome until it is done. ID names the rotation. */
export interface Rotate {
  id: string;
}
export const rotateShape: Shape<Rotate> = fields<Rotate>({
  id: str,
});

/** Rotated says that the new secret is stored on both sides. The session ends, and the next one opens with the new secret. */
export interface Rotated {
  id: string;
}
export const rotatedShape: Shape<Rotated> = fields<Rotated>({
  id: str,
});

/** Start lets an accepted attempt begin. A second one for the same attempt changes nothing. */
export interface Start {
  job: string;
  attempt: number;
}
export const startShape: Shape<Start> = fields<Start>({
  job: str,
  attempt: int,
});

/** Void tells the node to forget an attempt, and to stop it if it runs. */
export interface Void {
  job: string;
  attempt: number;
}
export const voidShape: Shape<Void> = fields<Void>({
  job: str,
  attempt: int,
});

/** Limits of a session, told in welcome and enforced by both sides. Bytes and items. */
export interface Limits {
  frame: number;
  string: number;
  list: number;
}
export const limitsShape: Shape<Limits> = fields<Limits>({
  frame: int,
  string: int,
  list: int,
});

/** Times of the lease, in milliseconds; the server owns them. */
export interface Times {
  heartbeat: number;
  suspect: number;
  lost: number;
  redial_window: number;
}
export const timesShape: Shape<Times> = fields<Times>({
  heartbeat: int,
  suspect: int,
  lost: int,
  redial_window: int,
});

/** Welcome answers hello. Pool is for the node's information only. Chain is what the node says in its next hello; it stores it before it sends a heartbeat. */
export interface Welcome {
  proto: number;
  node_id: string;
  epoch: number;
  chain: string;
  limits: Limits;
  times: Times;
  pool: string;
  holds: Hold[];
  void: AttemptRef[];
}
export const welcomeShape: Shape<Welcome> = fields<Welcome>({
  proto: int,
  node_id: str,
  epoch: int,
  chain: str,
  limits: limitsShape,
  times: timesShape,
  pool: str,
  holds: list(holdShape),
  void: list(attemptRefShape),
});

/** The body of each message, by its type. */
export interface Bodies {
  accept: Accept;
  cancel: Cancel;
  decline: Decline;
  goodbye: Goodbye;
  heartbeat: Heartbeat;
  heartbeat_ack: HeartbeatAck;
  hello: Hello;
  inventory: Inventory;
  log: Log;
  log_request: LogRequest;
  offer: Offer;
  progress: Progress;
  refused: Refused;
  result: Result;
  result_ack: ResultAck;
  rotate: Rotate;
  rotated: Rotated;
  start: Start;
  void: Void;
  welcome: Welcome;
}

/** What each message's body must look like. */
export const shapes: { [T in keyof Bodies]: Shape<Bodies[T]> } = {
  accept: acceptShape,
  cancel: cancelShape,
  decline: declineShape,
  goodbye: goodbyeShape,
  heartbeat: heartbeatShape,
  heartbeat_ack: heartbeatAckShape,
  hello: helloShape,
  inventory: inventoryShape,
  log: logShape,
  log_request: logRequestShape,
  offer: offerShape,
  progress: progressShape,
  refused: refusedShape,
  result: resultShape,
  result_ack: resultAckShape,
  rotate: rotateShape,
  rotated: rotatedShape,
  start: startShape,
  void: voidShape,
  welcome: welcomeShape,
};
