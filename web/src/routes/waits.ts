import type { Job } from "../api/documents";
import { span } from "../format";
import { waitWords } from "../strings";

/** 4m 12s: 3m 00s no node, 1m 12s fairness */
export function waitText(job: Pick<Job, "queuedMs" | "waits">): string {
  const parts = waitWords.flatMap(([key, words]): [ms: number, words: string][] => {
    const ms = job.waits?.[key] ?? 0;
    return ms > 0 ? [[ms, words]] : [];
  });
  const total = job.queuedMs ?? parts.reduce((ms, [part]) => ms + part, 0);
  return parts.length === 0 ? span(total) : `${span(total)}: ${parts.map(([ms, words]) => `${span(ms)} ${words}`).join(", ")}`;
}
