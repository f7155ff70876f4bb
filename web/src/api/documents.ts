// Written by `go run ./scripts/gen` from backend/internal/rest; do not edit.

/** User is an account. */
export interface User {
  id: string; // decimal
  name: string;
  roles: string[]; // for the whole fleet: superadmin, operator, viewer, user
  grants: Grant[]; // roles for single pools
  disabled: boolean;
  createdAt: string;
}

/** Grant is a role for one pool: its holder sees that pool, its nodes and its queue, and nothing of the others. */
export interface Grant {
  role: string; // operator, viewer
  pool: string;
}

/** UserRequest is the body of POST /v1/admin/users. */
export interface UserRequest {
  name: string;
  roles?: string[]; // ["user"]
  password?: string; // 12..128 bytes; absent: none
}

/** RolesRequest is the body of PUT /v1/admin/users/{id}/roles: one of the lists at least is not empty. */
export interface RolesRequest {
  roles: string[];
  grants?: Grant[]; // absent: they stay
  reason?: string;
}

/** Token is an API token without its secret. */
export interface Token {
  id: string;
  user: string;
  name: string;
  scopes: string[]; // empty: all that the user may; read: no change
  expiresAt?: string;
  createdAt: string;
  lastUsedAt?: string;
}

/** TokenRequest is the body of POST /v1/tokens and POST /v1/admin/users/{id}/tokens. */
export interface TokenRequest {
  name: string;
  scopes?: string[];
  expiresAt?: string;
}

/** NewToken shows a token's secret, once. */
export interface NewToken extends Token {
  token: string; // rp_…
}

/** SetupRequest exchanges the one-time setup token for the first superadmin. With a password that user signs in, without one there is an API token. */
export interface SetupRequest {
  setupToken: string;
  name?: string; // admin
  password?: string; // 12..128 bytes
}

/** SetupDone is the first superadmin and, unless a password was given, the API token, shown once. */
export interface SetupDone {
  user: User;
  token?: NewToken;
}

/** App is what work belongs to. */
export interface App {
  id: string;
  owner: string | null; // user id; null: none
  share: Share;
  createdAt: string;
  version: number; // ETag, If-Match
}

/** Share is what an app may have: its weight against others that wait for the same pool, and bounds; a bound of 0 is none. */
export interface Share {
  weight: number; // 100 of 1 to 1000
  maxOpenJobs: number; // a submit past it is refused
  maxPlacements: number; // a placement past it is refused
  maxSlots: number; // of jobs and placements together: jobs wait, placements are refused
}

/** ShareRequest is the body of PUT /v1/admin/apps/{id}/share. */
export interface ShareRequest extends Share {
  reason?: string;
}

/** AppRequest is the body of POST /v1/admin/apps. */
export interface AppRequest {
  id: string;
  owner?: string; // user id; absent or null: none
}

/** License lets nodes join. */
export interface License {
  id: string;
  user: string;
  roles: string[]; // the first is the default
  nodes: number;
  used: number;
  maxSlots?: number; // per node; absent: no clamp
  expiresAt?: string;
  revokedAt?: string;
  createdAt: string;
}

/** LicenseRequest is the body of POST /v1/admin/licenses. */
export interface LicenseRequest {
  user: string;
  roles?: string[]; // ["worker"]
  nodes?: number; // 1
  maxSlots?: number;
  expiresAt?: string;
}

/** NewLicense shows a license's code, once. */
export interface NewLicense extends License {
  licenseCode: string; // RPL-…
}

/** Alarm is one thing that is wrong, from its raising until it resolved itself. */
export interface Alarm {
  id: string;
  kind: string;
  severity: string; // critical, warning
  role?: string;
  pool?: string; // the first one resolved
  app?: string;
  node?: string;
  count: number;
  raisedAt: string;
  lastAt: string;
  resolvedAt?: string;
  detail: string;
  waiting: string[]; // jobs, the oldest first, at most 50
  waitingNow: number; // all of them
  acknowledgedBy?: string;
  acknowledgedAt?: string;
  silencedBy?: string;
  silencedUntil?: string;
}

/** SilenceRequest is the body of POST /v1/admin/alarms/{id}/silence. */
export interface SilenceRequest {
  for: string | null; // up to 30 days; 0s: no longer
  reason?: string;
}

/** Binding sends an app's work of one role, or of every role, to pools. */
export interface Binding {
  role: string; // empty: every role
  pools: string[]; // 1 to 8, in the order in which they are tried
  allowFallbackToDefault: boolean;
}

/** BindingRequest is the body of PUT /v1/admin/app-pool-bindings/{app}: the binding of that role. Without pools it goes. */
export interface BindingRequest extends Binding {
  reason?: string;
}

/** AppBindings are an app's bindings and what follows from them. */
export interface AppBindings {
  app: string;
  owner: string | null;
  bindings: Binding[];
  resolutions: Resolution[]; // by role; the empty one stands for every other
  version: number; // ETag, If-Match
}

/** Resolution is where an app's work of a role goes, also in words. */
export interface Resolution {
  role: string;
  rule: string;
  pools: string[];
  fallbackAllowed: boolean;
  usable: number; // nodes that may get new work of that role, fallback included
  text: string;
}

/** Candidates is a quiet look at where an app's work would go now. */
export interface Candidates {
  hint?: string; // the one root cause, when no node can take it
  decision: Decision;
  pools: PoolExplanation[]; // every reason of every node
}

/** Alignment is what will fail, before a request does. */
export interface Alignment {
  apps: MisalignedApp[];
  pools: UnresolvedPool[];
}

/** MisalignedApp resolves to no usable node. */
export interface MisalignedApp {
  app: string;
  owner: string | null;
  role?: string;
  rule: string;
  pools: string[];
  fallbackAllowed: boolean;
  nodes: number; // in these pools, all unusable
  elsewhere: number; // usable nodes of its owner in other pools
  text: string;
}

/** UnresolvedPool has nodes that no app's work can reach. */
export interface UnresolvedPool {
  pool: string;
  kind: string;
  nodes: number;
}

/** List is one page of a list. NextPageToken is opaque; empty on the last page. */
export interface List<T> {
  items: T[];
  nextPageToken: string;
}

/** ImpactRequest is the body of POST /v1/admin/nodes/impact: what would be done to these nodes together. Nothing is. */
export interface ImpactRequest {
  action: string; // move, cordon, drain
  nodes: string[]; // 1 to 1000
  pool?: string; // of a move: where to
}

/** Impact is what a change would do. */
export interface Impact {
  at: string;
  pools: PoolImpact[];
  apps: AppImpact[]; // worst first
  running: Blocker[];
  waiting: number; // jobs that would wait without a node to hope for
  placements: number;
}

/** PoolImpact compares a pool before and after. */
export interface PoolImpact {
  pool: string;
  before: PoolShape;
  after: PoolShape;
}

/** PoolShape is what a pool has to offer. */
export interface PoolShape {
  usable: number; // nodes that may get new work
  slots: number;
  free: number;
  outOfUse: number; // free slots of nodes that get no new work
}

/** AppImpact counts the nodes that an app's work of a role may go to. */
export interface AppImpact {
  app: string;
  owner: string | null;
  role: string;
  before: number;
  after: number;
  waiting: number;
  fallbackAllowed: boolean;
}

/** Inventory is what a node says that it has: a claim, for people and for planning. Nothing is admitted by it. */
export interface Inventory {
  rev: number; // rises with each change
  at: string; // when it changed last
  stale: boolean;
  platform: string;
  archs: string[];
  accelerators: Accelerator[];
  memory: MemoryDomain[];
  links: NodeLink[];
  artifactDisk: DiskSpace;
  cached: CachedArtifact[];
  commands: string[]; // programs that its runners use and that are there
  isolation: string[]; // what keeps its jobs apart and within their limits: user, cgroup, memory, processes
}

/** Accelerator is one device that work can use beside the processor. */
export interface Accelerator {
  name: string;
  kind: string;
  model?: string;
}

/** MemoryDomain is memory that is shared by what stands in it. */
export interface MemoryDomain {
  name: string;
  kind: string;
  totalMib: number;
}

/** NodeLink is a way from a node to another one, as its owner declares it. */
export interface NodeLink {
  peer: string;
  kind: string;
  mbps: number;
}

/** DiskSpace is that of the directory in which a node keeps files of its work. */
export interface DiskSpace {
  totalMib: number;
  freeMib: number; // at least, in steps of a 32nd of the whole
}

/** CachedArtifact is a file that a node keeps; the size in bytes. */
export interface CachedArtifact {
  digest: string;
  size: number;
}

/** JobRequest is the body of POST /v1/jobs. An absent or null key takes its default, which stands behind it. */
export interface JobRequest {
  app: string;
  role?: string; // worker
  runner: string;
  params?: Record<string, string>;
  inputs?: Record<string, string>; // name to sha256:<64 hex>
  demands?: Demands;
  backend?: string; // any
  region?: string; // any
  priority?: number; // 50 of 0 to 100, high first
  maxAttempts?: number; // 3 of 1 to 100
  onNodeLost?: string; // requeue, fail, hold
  whenExhausted?: string; // wait, fail
  runTimeout?: string; // none
  labels?: [string, string][];
  pool?: string;
  queueTimeout?: string;
  notBefore?: string;
  retryBackoff?: string; // 1s of 0s to 5m; doubles with each attempt, up to 5m
  avoidFailedNode?: boolean;
}

/** Waits is the time that a job waited so far, split by what it waited for, in milliseconds. */
export interface Waits {
  pool: number; // no node could take it
  fairness: number; // one could, other work was first
  backoff: number; // not-before, or the pause after an attempt
  quota: number; // its app had all that it may have
  hold: number; // a person had to resolve it
  offer: number; // from the assignment to the node's yes
}

/** ResolveRequest is the body of POST /v1/jobs/{id}/resolve, of a job that waits for a person. */
export interface ResolveRequest {
  action: string; // requeue, fail
}

/** CancelSelection is the body of POST /v1/jobs/cancel: the jobs with these ids (at most 1,000), or with ?dryRun those that the filter selects, as the list to send. */
export interface CancelSelection {
  ids?: string[];
  app?: string;
  state?: string;
  label?: [string, string];
  grace?: string;
}

/** CancelSelected answers for each job. */
export interface CancelSelected {
  applied: boolean; // false: a dry run
  items: CanceledItem[];
}

/** CanceledItem is one job of a selection: its state afterwards, or the problem's code. */
export interface CanceledItem {
  id: string;
  state?: string;
  code?: string;
}

/** Demands is what a job reserves on its node. */
export interface Demands {
  slots?: number; // 1 of 0 to 64
  memoryMib?: number; // 0
}

/** BatchRequest is the body of POST /v1/jobs/batch: 1 to MaxBatch jobs. When one of them is not valid none is taken. */
export interface BatchRequest {
  jobs: JobRequest[];
  brief?: boolean; // answer with the jobs' ids, without their documents: false
}

/** Batch answers a batch: one item per job, in the order of the request. */
export interface Batch {
  items: BatchItem[];
}

/** BatchItem is one job's answer: Job (ID when the answer is to be brief) with 201 (or 200 for a replay), or Problem. */
export interface BatchItem {
  status: number;
  id?: string;
  job?: Job;
  problem?: ItemProblem;
}

/** CancelRequest is the optional body of POST /v1/jobs/{id}/cancel. */
export interface CancelRequest {
  grace?: string; // until the tool is killed: 10s of 0 to 10m
}

/** Job is a job as it is now. */
export interface Job {
  id: string;
  app: string;
  role: string;
  runner: string;
  state: string;
  reason: string | null; // why it waits, or why it ended so
  detail?: string; // one line for people
  reasons?: Reason[];
  priority: number;
  attempt: number; // the newest; 0: none yet
  node?: string;
  pool?: string; // as it was placed
  fallback: boolean;
  percent?: number; // while it runs
  queuedMs?: number; // how long it waited so far, over all its attempts
  waits?: Waits; // the same by what it waited for
  notBefore?: string; // while it waits for that
  retryOf?: string;
  createdAt: string;
  assignedAt?: string;
  startedAt?: string;
  endedAt?: string;
  exitCode?: number;
  output?: unknown;
  outputs?: Record<string, string>; // name to digest
  labels?: [string, string][];
  asks: JobAsks;
  links: JobLinks;
}

/** JobAsks is what a job was submitted with, defaults filled in, and how many of its attempts count. */
export interface JobAsks {
  slots: number;
  memoryMib: number;
  backend?: string; // any
  region?: string; // any
  queueTimeout: string; // 0s: none
  runTimeout: string; // 0s: none
  onNodeLost: string;
  maxAttempts: number;
  counted: number;
}

/** JobLinks are paths of the same server. */
export interface JobLinks {
  decision: string;
  log: string;
}

/** Decision says why a job went where it went, or nowhere. */
export interface Decision {
  outcome: string; // placed, waiting, failed
  at: string;
  rule: string; // binding, owner_pool, no_owner
  pools: PoolDecision[];
  node?: string;
  remainingSlots: number;
  tieBreak: boolean;
  fallback: boolean;
  fallbackAllowed: boolean;
  epoch: number;
  text: string;
}

/** PoolDecision counts one pool's nodes, each under its first reason. */
export interface PoolDecision {
  pool: string;
  nodes: number;
  candidates: number;
  rejected: Record<string, number>;
}

/** Explanation is every reason of every node against one job, as it is now. Node ids are shown to those who may see the whole fleet; others get the counts. */
export interface Explanation {
  job: string;
  state: string;
  at: string;
  rule: string;
  hint?: string; // the one root cause, when no node can take it
  pools: PoolExplanation[];
  queue?: Standing; // of a job that waits for a node
  text: string;
}

/** Standing is a job's place among what waits for the pool that it tries first. What is ahead of it and can't be placed holds nothing back. */
export interface Standing {
  pool: string;
  position: number; // 1 is first
  of: number; // of its app, itself included
  aheadAlike: number; // ask for the same
  aheadOther: number; // ask for something else
  otherApps: number; // whose work waits for the pool
  otherWork: number; // of those
  weight: number; // its app's
  weights: number; // of all apps whose work waits for the pool
  reserved?: string; // the node that is kept for it
  passed: number; // jobs of its app that came later and were placed in the pool, of no higher priority; 1000: or more
  passedAt?: string; // the last of them
}

/** PoolExplanation explains one pool. A node stands under each of its reasons, and once under its first. */
export interface PoolExplanation {
  pool: string;
  nodes: number;
  candidates: number;
  candidateNodes?: string[];
  reasons: NodeExplanation[];
  first: NodeExplanation[]; // with the candidates they are all nodes
  alone: NodeExplanation[];
  roomiest?: Roomiest;
  nearest?: Roomiest; // of those large enough for the job
}

/** Roomiest is the node that lacks nothing but slots and has the most of them free. */
export interface Roomiest {
  node?: string;
  freeSlots: number;
}

/** NodeExplanation counts (and may name) the nodes with one reason. */
export interface NodeExplanation {
  reason: string;
  nodes: number;
  nodeIds?: string[];
  words?: string;
}

/** Attempt is one attempt of a job. */
export interface Attempt {
  attempt: number;
  node: string;
  pool: string;
  fallback: boolean;
  outcome: string; // open, ended, declined, unanswered, orphaned
  reason: string | null;
  assignedAt?: string;
  startedAt?: string;
  endedAt?: string;
  decision?: Decision;
}

/** JobLog is the head and the tail of the log that came with the result. Bytes that are not UTF-8 read as U+FFFD. */
export interface JobLog {
  job: string;
  attempt: number;
  head: string;
  tail: string; // what follows the gap, or empty
  bytes: number;
  truncated: boolean; // bytes between head and tail are not kept
}

/** Capacity is a vector of capacity, or of what is reserved of it. */
export interface Capacity {
  slots: number;
  resources?: Record<string, number>;
  memoryMib?: Record<string, number>; // by domain; host is the machine's own
}

/** Hold is why a node gets no new work. */
export interface Hold {
  kind: string; // cordon, drain, quarantine, auto, deaf
  owner: string; // operator, self, auto
  actor?: string;
  reason?: string;
  until?: string; // it ends by itself then
  deadline?: string; // of a drain: what runs then is canceled and placed anew
}

/** Node is a node's record and what the control plane sees of it now. */
export interface Node {
  id: string;
  owner: string | null; // user id; null: none
  pool: string;
  role: string;
  region?: string;
  lease: string; // new, ready, suspect, lost, left
  healthy: boolean;
  healthReasons?: string[];
  accepting: boolean; // it says that it takes work
  acceptReason?: string; // why it does not
  holds: Hold[];
  capacity: Capacity;
  reserved: Capacity;
  running: number; // attempts that it holds
  backend?: string;
  runners: string[];
  epoch: number;
  license?: string;
  agentVersion?: string;
  os?: string;
  arch?: string;
  address?: string; // of its newest session's peer
  endpoints?: [string, string][];
  labels?: [string, string][];
  clockSkewMs?: number; // how far its clock is ahead of the server's, within half a second; absent: less, or unknown
  createdAt: string;
  lastSeenAt?: string;
  version: number; // ETag, If-Match
  claimants?: Claimant[];
  keep?: string;
  rotating?: boolean; // its secret is being changed
  rotatedAt?: string;
  seat?: Seat;
  inventory?: Inventory; // of GET /v1/nodes/{id}; absent: it has told none
}

/** Seat is a node's place among those of its license. */
export interface Seat {
  number: number; // from 1
  of: number; // that the license has
}

/** Claimant is a process that says it is a node in quarantine. */
export interface Claimant {
  id: string;
  holder: boolean; // its sessions are taken; another one's are refused
  address?: string;
  machineId?: string;
  bootId?: string;
  agentVersion?: string;
  seenAt: string; // its last hello
}

/** RepairRequest is the body of POST /v1/admin/nodes/{id}/repair. */
export interface RepairRequest {
  keep: string; // the claimant that is the node
  reason?: string;
}

/** NodeSecretRequest is the body of PUT /v1/node/secret: what a node made for a rotation that it was told of. */
export interface NodeSecretRequest {
  id: string; // the rotation
  secret: string;
}

/** MoveRequest is the body of PUT /v1/admin/nodes/{id}/pool. */
export interface MoveRequest {
  pool: string;
  reason?: string;
}

/** Moved answers a node's move. */
export interface Moved {
  node: string;
  from: string;
  to: string;
  running: number; // attempts that stay where they are
  applied: boolean; // false: a dry run
  version: number; // of the node's record now
  appsExhausted?: string[];
  impact?: Impact; // of a dry run
}

/** DrainRequest is the optional body of POST /v1/admin/nodes/{id}/drain. */
export interface DrainRequest {
  deadline?: string; // from now; absent: running work goes on to its end
  reason?: string;
}

/** Drained answers a drain: what still runs there. */
export interface Drained {
  node: Node;
  applied: boolean; // false: a dry run
  running: Blocker[];
  impact?: Impact; // of a dry run
}

/** Blocker is an attempt that a drain waits for. */
export interface Blocker {
  job: string;
  attempt: number;
  phase: string; // accepted, running, stopping
  percent: number;
}

/** UncordonRequest is the optional body of POST /v1/admin/nodes/{id}/uncordon. */
export interface UncordonRequest {
  kind?: string;
  reason?: string;
}

/** NodeRequest is the body of POST /v1/admin/nodes. */
export interface NodeRequest {
  id: string;
  owner?: string; // user id; absent: none, and the node is in default
  role: string;
  maxSlots?: number; // the most that it may bring; 0: what it says
}

/** NewNode shows a node's secret, once. */
export interface NewNode extends Node {
  secret: string;
}

/** ReasonRequest is the optional body of an administrative POST. */
export interface ReasonRequest {
  reason?: string;
}

/** Role is what a node is for: work names one. */
export interface Role {
  name: string;
  builtIn: boolean;
}

/** RoleRequest is the body of POST /v1/admin/roles. */
export interface RoleRequest {
  name: string;
}

/** NodeHistory is what the server remembers of a node since it started: a bounded number of each. */
export interface NodeHistory {
  node: string;
  at: string;
  sessionSince?: string; // of the newest; absent: none since the server started
  suspectMs: number; // so long without a frame makes it suspect
  lostMs: number;
  heartbeatMs: number; // so often it says that it lives
  roundTripMs?: number; // of a heartbeat, as the node measured it; absent: not told yet
  decisions: NodeDecision[]; // those of now first, then the newest first
  chosen: number; // how often it was chosen since chosenSince
  chosenSince: string; // 24 to 25 hours ago, or the server's start
  log: NodeLogLine[]; // newest first
}

/** NodeDecision is one that chose the node, or that rejects it now. */
export interface NodeDecision {
  at?: string; // absent: of now, of a job that waits
  outcome: string; // chosen, rejected
  job: string;
  app: string;
  reason: string;
}

/** NodeLogLine is one thing that happened on a node. */
export interface NodeLogLine {
  at: string;
  text: string;
}

/** PlacementRequest is the body of POST /v1/placements: the same app, role and key give the same placement while it lasts. */
export interface PlacementRequest {
  app: string;
  role: string;
  key?: string; // 1 to 200 visible characters
  purpose?: string; // one line, for people
  slots?: number; // 0 of 0 to 64, of each node
  memoryMib?: number; // 0
  count?: number; // 1 of 1 to 16 distinct nodes, all or none
  ttl?: string; // 5m of 10s to 24h
  backend?: string; // any
  region?: string; // any
}

/** Placement reserves nodes for an outside client. */
export interface Placement {
  id: string;
  app: string;
  role: string;
  key?: string;
  purpose?: string;
  state: string; // active, draining, released, expired, lost
  slots: number;
  fallback: boolean;
  createdAt: string;
  expiresAt: string;
  endedAt?: string;
  nodes: PlacementNode[];
  decision?: Decision; // in the detail alone
}

/** PlacementNode is where the client goes: the endpoints as the node registered them. */
export interface PlacementNode {
  id: string;
  pool: string; // as it was placed
  lease: string;
  endpoints: Record<string, string>;
}

/** RenewRequest is the optional body of POST /v1/placements/{id}/renew. */
export interface RenewRequest {
  ttl?: string; // the one that it has
}

/** Pool is a pool and what is in it now. */
export interface Pool {
  id: string;
  name: string;
  kind: string; // default, unassigned, user, named
  state: string; // active, draining, disabled
  nodes: number;
  leases: LeaseCounts;
  held: number; // nodes with a hold, whatever their lease
  totalSlots: number; // of all its nodes
  freeSlots: number; // that can take work now
  running: number; // attempts that its nodes hold
  queued: number; // jobs whose first pool it is
  overdue: number; // of these, past the threshold
  canary: boolean; // named, and nothing resolves to it
  thresholds: Thresholds;
  massLossSince?: string;
  version: number; // ETag, If-Match
  resolvers?: Resolver[];
  sharing?: Sharing;
  thresholdsChanged?: Change;
}

/** Change is when something was changed, and by whom. */
export interface Change {
  at: string;
  by: string; // a person's name, or who it was else
}

/** PoolPoint is what a pool's slots were at one moment: used, free on nodes that get no new work, and all of them, with how many jobs waited. GET /v1/pools/{id}/history gives a point a minute of the last six hours, the oldest first; it begins with the server's start. */
export interface PoolPoint {
  at: string;
  used: number;
  outOfUse: number;
  total: number;
  queued: number;
  draining: number; // nodes
}

/** Thresholds of a pool: past one an alarm is raised. */
export interface Thresholds {
  queueWait: string;
  freeSlots: number; // so few or fewer while work waits
  notReadyPct: number; // of its nodes; 100: never
}

/** Resolver is an app that resolves to a pool. */
export interface Resolver {
  app: string;
  owner: string | null;
  role?: string; // of the binding; absent: every role
  rule: string; // binding, owner_pool, no_owner
  place: number; // in its order of pools, from 0
  fallback: boolean; // it comes by fallback alone
  allowed: boolean; // its fallback to default is
  running: number; // attempts of its work that ended nowhere yet and count for the pool
}

/** Sharing says how many apps and owners share a pool, those aside that come by fallback alone. */
export interface Sharing {
  apps: number;
  owners: number;
  text: string; // shared by 4 apps of 2 owners
}

/** PoolRequest is the body of POST /v1/admin/node-pools. */
export interface PoolRequest {
  id: string;
  name?: string; // the id
  thresholds?: Thresholds;
  reason?: string;
}

/** PoolChange is the body of PUT /v1/admin/node-pools/{id}; what is absent stays. */
export interface PoolChange {
  name?: string;
  state?: string; // active, draining, disabled
  thresholds?: Thresholds;
  reason?: string;
}

/** PoolChanged answers a pool's change. */
export interface PoolChanged {
  pool: Pool;
  applied: boolean; // false: a dry run
  impact?: Impact; // of a dry run
}

/** PromoteRequest is the body of POST /v1/admin/node-pools/{id}/promote: the nodes of a canary pool move to another when the checks hold. */
export interface PromoteRequest {
  to: string;
  checks: PromoteChecks;
  reason?: string;
}

/** PromoteChecks are what must hold of the pool; zero values ask for nothing. */
export interface PromoteChecks {
  jobs: number; // canary jobs that succeeded on it
  noRestart?: boolean; // no node's agent began anew within ReadyFor
  readyFor?: string; // every node, without a break
}

/** Promoted answers a promotion. A refusal is a conflict with the reasons. */
export interface Promoted {
  pool: string;
  to: string;
  nodes: string[];
  applied: boolean; // false: a dry run
  reasons: string[]; // why it would be refused, of a dry run
  impact?: Impact;
}

/** LeaseCounts counts nodes by lease. */
export interface LeaseCounts {
  new: number;
  ready: number;
  suspect: number;
  lost: number;
  left: number;
}

/** Problem is RFC 9457's document with Rockpool's members: code for machines, reasons for a refusal by pools, checks that a promotion did not pass, items for a batch. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail?: string;
  reasons?: Reason[];
  checks?: string[];
  items?: ItemProblem[];
  requestId: string;
}

/** Reason counts the nodes of one pool that could not take a job for one reason. */
export interface Reason {
  pool: string;
  reason: string;
  nodes: number;
}

/** ItemProblem is what is wrong with one item of a batch. */
export interface ItemProblem {
  index: number; // from 0
  code: string;
  detail: string;
  retryAfter?: number;
}

/** SessionRequest is the body of POST /v1/session: signing in. */
export interface SessionRequest {
  name: string;
  password: string;
}

/** Session is who is signed in. */
export interface Session {
  user: User;
  roles: string[];
  fleet?: string; // its name, for people
}

/** PasswordChange is the body of PUT /v1/session/password. */
export interface PasswordChange {
  current: string;
  password: string; // 12..128 bytes
}

/** PasswordRequest is the body of PUT /v1/admin/users/{id}/password. */
export interface PasswordRequest {
  password: string; // 12..128 bytes
  reason?: string;
}

/** Artifact is a stored file, addressed by its content. */
export interface Artifact {
  digest: string; // sha256:<64 hex>
  size: number; // bytes
}

/** AuditEntry is one link of the audit chain. */
export interface AuditEntry {
  seq: number;
  at: string;
  actor: string; // u:<id>, node:<id>, local
  actorName?: string; // of the person, as it is now
  address?: string;
  requestId?: string;
  action: string;
  object: string;
  before?: unknown;
  after?: unknown;
  reason?: string;
  sum: string; // hex SHA-256
}

/** AuditVerified is the outcome of checking the whole chain. */
export interface AuditVerified {
  ok: boolean;
  seq: number; // of the head
  sum: string; // of the head, hex
  badSeq?: number;
}

/** Version says what runs. */
export interface Version {
  version: string;
  commit?: string;
  go: string;
}

/** Health answers /livez and /readyz. */
export interface Health {
  status: string; // ok, unavailable, standby
  detail?: string;
  frozen?: Frozen; // absent: leases run out as ever
}

/** Frozen says since when no lease runs out, because a fault of the control plane never counts against nodes. */
export interface Frozen {
  since: string;
  until?: string; // then leases may run out again; absent: nobody knows yet
  by: string; // database, standstill, restart
}

/** Usage is what an app's work took of a pool on one day (UTC). */
export interface Usage {
  day: string; // 2026-11-29
  app: string;
  pool: string;
  attempts: number;
  slotSeconds: number;
  fallbackSlotSeconds: number; // of these, as fallback
  placements: number;
  placementSlotSeconds: number;
  placementFallbackSlotSeconds: number; // of these, as fallback
}

/** Isolation answers an audit of the kept history. */
export interface Isolation {
  holds: boolean; // no work ran outside its pools without a record
  from?: string; // of the oldest attempt or placement read
  to?: string;
  jobs: number;
  attempts: number; // of jobs
  placements: number;
  fallbacks: number; // of both, with a record
  undecided: number;
  tolerance: string; // around a change, in which what stood before and after are both right
  crossings: Crossing[]; // at most 100
  found: number; // all of them
}

/** Crossing is an attempt or a placement's node that is where it should not be. */
export interface Crossing {
  job?: string;
  attempt?: number;
  placement?: string;
  node: string;
  pool: string;
  detail: string;
}
