import { describe, expect, it } from "vitest";
import type { NodeRow } from "../wire/messages";
import { chosenOf, done, news, titleOf, workWords } from "./nodeact";

const row = (id: string, over: Partial<NodeRow> = {}) =>
  ({ id, pool: "pool-7", lease: "ready", holds: [], healthy: true, accepting: true, version: 3, ...over }) as unknown as NodeRow;
const a = chosenOf(row("a"));
const b = chosenOf(row("b"));

describe("what is done to nodes", () => {
  it("is named in the head", () => {
    expect(titleOf("move", [a, b])).toBe("Move 2 nodes out of pool-7");
    expect(titleOf("move", [a, chosenOf(row("c", { pool: "default" }))])).toBe("Move 2 nodes");
    expect(titleOf("drain", [a])).toBe("Drain a");
  });

  it("says what becomes of running work", () => {
    expect(workWords("move", 26, "pool-7", "")).toBe("run on, results count, pool stays pool-7");
    expect(workWords("drain", 1, "pool-7", "10m")).toBe("may run for 10m, then it is canceled and placed anew");
    expect(workWords("drain", 2, "pool-7", "")).toBe("run on to their end");
    expect(workWords("cordon", 1, "pool-7", "10m")).toBe("runs on to its end");
  });

  it("tells what changed of the selection meanwhile", () => {
    expect(news([a, b], [row("a"), row("b")])).toBeUndefined();
    expect(news([a, b], [row("a", { lease: "suspect" })])).toBe("Meanwhile a is suspect now, b is gone. The dry run was made again.");
    expect(news([a], [row("a", { pool: "default", version: 4 })])).toContain("a is in default now");
    expect(news([a], [row("a", { version: 4 })])).toContain("the record of a was changed");
  });

  it("says what was done", () => {
    expect(done("move", ["a", "b"], "unassigned")).toBe("2 nodes are in unassigned now.");
    expect(done("cordon", ["a"], "")).toBe("a gets no new work.");
  });
});
