/** Words of the server's tables as people read them. */

/** Why a node is no candidate, in the order in which the first one counts. */
export const reasonWords: [reason: string, words: string][] = [
  ["pool_disabled", "in a disabled pool"],
  ["pool_draining", "in a draining pool"],
  ["role", "of another role"],
  ["lease", "not connected"],
  ["unhealthy", "unhealthy"],
  ["quarantine", "in quarantine"],
  ["draining", "draining"],
  ["cordoned", "cordoned"],
  ["auto_hold", "on automatic hold"],
  ["deaf", "deaf to offers"],
  ["reserved", "reserved for a larger job"],
  ["runner", "without the runner"],
  ["backend", "without the backend"],
  ["region", "in another region"],
  ["excluded", "excluded for this job"],
  ["slots", "without a free slot"],
  ["resource", "without the resource"],
  ["memory", "without the memory"],
];

const order = new Map(reasonWords.map(([reason], i) => [reason, i]));
const family = (reason: string) => reason.split(":")[0] ?? reason;

/** resource:nvenc counts as resource. */
export const reasonIn = (reason: string) => reasonWords.find(([r]) => r === family(reason))?.[1] ?? reason;
export const byReason = (a: string, b: string) => (order.get(family(a)) ?? 99) - (order.get(family(b)) ?? 99);

const causes: Record<string, string> = {
  pool_exhausted: "no node can take it now",
  node_lost: "its node was lost",
  not_before: "it may not run yet",
  backoff: "it pauses after an attempt",
  held: "its node was lost: a person has to decide",
  queue_timeout: "it waited longer than it may",
  quota: "its app has all the slots that it may have",
  drained: "its node was drained",
  declined: "the node declined it",
  unanswered: "the node did not answer the offer",
  canceled: "canceled by a user",
  attempts_used_up: "all attempts are used up",
  assignment_refused: "the node had moved, was held or full",
  exit_code: "the tool ended with another exit code",
  signaled: "the tool was killed by a signal",
  run_timeout: "the run limit passed",
  start_failed: "the tool could not be started",
  input_failed: "an input could not be fetched",
  output_missing: "an output is missing",
  probe_failed: "what was probed gave no answer, or another one",
  limit_passed: "it needed more memory or processes than its runner allows",
  output_too_large: "an output is too large",
  output_failed: "an output could not be handed over",
  non_finite: "a number in the result is not finite",
  bad_params: "the parameters do not fit the runner",
  bad_input: "an input could not be unpacked",
  disk_full: "its node's disk was full",
  node_shutting_down: "the agent was stopped",
  agent_restarted: "the agent restarted",
};

/** Why a job waits, or ended as it did. */
export const causeIn = (cause: string) => causes[cause] ?? cause.replaceAll("_", " ");

/** What a job's time in the queue went to, in the order of the ledger. */
export const waitWords: [key: "pool" | "fairness" | "backoff" | "quota" | "hold" | "offer", words: string][] = [
  ["pool", "no node"],
  ["fairness", "fairness"],
  ["backoff", "pauses"],
  ["quota", "quota"],
  ["hold", "held"],
  ["offer", "offer"],
];

const changes: Record<string, string> = {
  hello: "joined the channel",
  heartbeat: "heard from again",
  silence: "no frame in time",
  disconnected: "the link broke",
  restart: "the server restarted",
  left: "said goodbye",
  revoked: "its secret was revoked",
};

/** Why a lease changed. */
export const changeIn = (cause: string) => changes[cause] ?? cause.replaceAll("_", " ");

const declines: Record<string, string> = {
  starts_failing: "jobs can't be started there",
  spool_full: "its spool is full",
  spool_failing: "results can't be written to its disk",
  state_failing: "its state directory can't be written",
  disk_full: "its disk is full",
  stopping: "it is being stopped",
};

/** Why a node takes no work, as it says: a word, and what came with it. */
export function declineIn(reason: string): string {
  if (reason === "") return "it gives no reason";
  const [word = "", ...rest] = reason.split(": ");
  const said = declines[word];
  return said ? [said, ...rest].join(": ") : reason.replaceAll("_", " ");
}
