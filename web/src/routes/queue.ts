import type { Job, Reason } from "../api/documents";
import { count } from "../format";
import { byReason, causeIn } from "../strings";

/** Jobs that wait for a pool, by what they wait for. */
export interface Waiting {
  key: string;
  /** 9 draining, 3 slots, 2 backend */
  words: string;
  app: string;
  role: string;
  reason: string; // the job's, or empty
  jobs: number;
  since: number; // of the oldest, unix milliseconds
}

/** The first reasons of one pool's nodes, in their order. */
export function reasonWords(reasons: Reason[], pool: string): string {
  const own = reasons.filter((r) => r.pool === pool && r.nodes > 0).toSorted((a, b) => byReason(a.reason, b.reason));
  return own.map((r) => `${count(r.nodes)} ${r.reason}`).join(", ");
}

/** A job waits for the first of the pools that it names; one that names none is told by its app. */
export function waitsFor(job: Job, pool: string, apps: ReadonlySet<string>): boolean {
  const first = job.reasons?.[0]?.pool;
  return first === undefined ? apps.has(job.app) : first === pool;
}

/** The most numerous first. */
export function byWait(jobs: Job[], pool: string): Waiting[] {
  const groups = new Map<string, Waiting>();
  for (const job of jobs) {
    const words = reasonWords(job.reasons ?? [], pool) || (job.reason ? causeIn(job.reason) : "their turn");
    const key = `${job.app} ${job.role} ${words}`;
    const since = Date.parse(job.createdAt);
    const group = groups.get(key);
    if (!group) groups.set(key, { key, words, app: job.app, role: job.role, reason: job.reason ?? "", jobs: 1, since });
    else {
      group.jobs++;
      group.since = Math.min(group.since, since);
    }
  }
  return [...groups.values()].sort((a, b) => b.jobs - a.jobs || a.since - b.since);
}
