import { describe, expect, test } from "vitest";
import type { Job } from "../api/documents";
import { byWait, reasonWords, waitsFor } from "./queue";

const reasons = [
  { pool: "pool-7", reason: "backend", nodes: 2 },
  { pool: "pool-7", reason: "draining", nodes: 9 },
  { pool: "default", reason: "slots", nodes: 4 },
];

function job(id: string, over: Partial<Job> = {}): Job {
  return {
    id,
    app: "cam-7",
    role: "edge",
    runner: "vmaf",
    state: "queued",
    reason: "pool_exhausted",
    priority: 50,
    attempt: 0,
    fallback: false,
    createdAt: "2026-11-29T15:00:00.000Z",
    asks: { slots: 1, memoryMib: 0, queueTimeout: "0s", runTimeout: "0s", onNodeLost: "requeue", maxAttempts: 3, counted: 0 },
    links: { decision: "", log: "" },
    reasons,
    ...over,
  };
}

describe("a pool's queue", () => {
  test("a pool's own reasons, in the order of the table", () => {
    expect(reasonWords(reasons, "pool-7")).toBe("9 draining, 2 backend");
    expect(reasonWords(reasons, "elsewhere")).toBe("");
  });

  test("a job waits for the first pool that it names", () => {
    const none = new Set<string>();
    expect(waitsFor(job("a"), "pool-7", none)).toBe(true);
    expect(waitsFor(job("a"), "default", none)).toBe(false);
    const { reasons: _, ...unsaid } = job("b");
    expect(waitsFor(unsaid, "pool-7", none)).toBe(false);
    expect(waitsFor(unsaid, "pool-7", new Set(["cam-7"]))).toBe(true);
  });

  test("equal waits are one line, the largest first, aged by its oldest job", () => {
    const older = "2026-11-29T14:59:00.000Z";
    const { reasons: _, ...unsaid } = job("d", { app: "chat", reason: null });
    const list = byWait([job("a"), unsaid, job("b", { createdAt: older }), job("c", { role: "worker" })], "pool-7");
    expect(list.map((w) => [w.jobs, w.words, w.app, w.role, w.since])).toEqual([
      [2, "9 draining, 2 backend", "cam-7", "edge", Date.parse(older)],
      [1, "their turn", "chat", "edge", Date.parse("2026-11-29T15:00:00.000Z")],
      [1, "9 draining, 2 backend", "cam-7", "worker", Date.parse("2026-11-29T15:00:00.000Z")],
    ]);
  });
});
