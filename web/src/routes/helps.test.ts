import { describe, expect, it } from "vitest";
import type { Explanation, PoolExplanation } from "../api/documents";
import { freedIn, helps } from "./helps";

const pool = (over: Partial<PoolExplanation>): PoolExplanation => ({ pool: "pool-7", nodes: 14, candidates: 0, reasons: [], first: [], alone: [], ...over });
const of = (pools: PoolExplanation[], over: Partial<Explanation> = {}): Explanation => ({
  job: "j",
  state: "queued",
  at: "2026-11-29T15:04:19.000Z",
  rule: "owner_pool",
  pools,
  text: "",
  ...over,
});
const ask = { app: "cam-7", slots: 6, sharedFree: 0 };
const titles = (e: Explanation, over = {}) => helps(e, { ...ask, ...over }).map((h) => h.title);

describe("helps", () => {
  it("names what is missing, what can be lifted, and what could be asked instead", () => {
    const e = of([
      pool({
        roomiest: { node: "ams-edge-03", freeSlots: 4 },
        nearest: { node: "ams-edge-03", freeSlots: 4 },
        alone: [
          { reason: "draining", nodes: 9, nodeIds: ["ams-edge-01", "ams-edge-02"] },
          { reason: "slots", nodes: 3 },
        ],
      }),
    ]);
    expect(titles(e, { sharedFree: 16 })).toEqual([
      "2 more free slots on ams-edge-03",
      "Lift the drain of ams-edge-01",
      "Ask for 4 slots or fewer",
      "Allow cam-7 to fall back to default",
    ]);
  });
  it("says nothing that nothing supports", () => {
    expect(titles(of([pool({ alone: [{ reason: "backend", nodes: 2 }] })]))).toEqual([]);
    expect(titles(of([pool({ pool: "default" })]), { sharedFree: 100 })).toEqual([]);
    const small = { roomiest: { node: "b", freeSlots: 3 } }; // never large enough: no slots freed there help
    expect(titles(of([pool(small)]))).toEqual(["Ask for 3 slots or fewer"]);
    expect(titles(of([pool({ nearest: { freeSlots: 0 } })]))).toEqual(["6 more free slots on one node of pool-7"]);
  });
  it("says which node is kept for it, once", () => {
    const queue = {
      pool: "pool-7",
      position: 1,
      of: 1,
      aheadAlike: 0,
      aheadOther: 0,
      otherApps: 0,
      otherWork: 0,
      weight: 1,
      weights: 1,
      passed: 0,
      reserved: "a",
    };
    expect(titles(of([pool({ nearest: { node: "a", freeSlots: 0 } })], { queue }))).toEqual(["Room on a"]);
  });
});

describe("freedIn", () => {
  const minute = 60_000;
  const runs = (slots: number, percent: number, started_at = 0 - minute) => ({
    phase: "running" as const,
    slots,
    percent,
    started_at: started_at + 10 * minute,
  });
  const now = 10 * minute;
  it("goes by the progress of what ends first", () => {
    expect(freedIn([runs(1, 25), runs(2, 50)], 2, now)).toBe(minute);
    expect(freedIn([runs(1, 25), runs(2, 50)], 3, now)).toBe(3 * minute);
  });
  it("says nothing without enough that tells its progress", () => {
    expect(freedIn([runs(2, 50)], 3, now)).toBeUndefined();
    expect(freedIn([runs(4, 4)], 1, now)).toBeUndefined();
    expect(freedIn([{ ...runs(4, 50), phase: "accepted" }], 1, now)).toBeUndefined();
  });
});
