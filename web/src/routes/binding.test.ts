import { describe, expect, test } from "vitest";
import { bindingWords, poolWords, roleWords, sentence, shifted } from "./binding";

describe("bindings", () => {
  test("in words, fallback always said", () => {
    expect(bindingWords({ role: "", pools: ["gpu-big", "pool-7"], allowFallbackToDefault: false })).toBe("gpu-big, then pool-7; fallback off");
    expect(bindingWords({ role: "edge", pools: ["pool-7"], allowFallbackToDefault: true })).toBe("pool-7; fallback allowed");
    expect([roleWords(""), roleWords("edge")]).toEqual(["every role", "edge"]);
  });

  test("an entry moves one place, and not beyond the ends", () => {
    const list = ["a", "b", "c"];
    expect(shifted(list, 1, -1)).toEqual(["b", "a", "c"]);
    expect(shifted(list, 1, 1)).toEqual(["a", "c", "b"]);
    expect(shifted(list, 0, -1)).toEqual(list);
    expect(shifted(list, 2, 1)).toEqual(list);
  });

  test("a pool's nodes, each reason in its place", () => {
    const reasons = [
      { reason: "slots", nodes: 3 },
      { reason: "draining", nodes: 9 },
    ];
    expect(poolWords({ pool: "pool-7", nodes: 14, candidates: 2, reasons, first: [], alone: [] })).toBe(
      "2 of 14 nodes in pool-7 could take it: 9 draining, 3 without a free slot",
    );
    expect(poolWords({ pool: "pool-7", nodes: 1, candidates: 1, reasons: [], first: [], alone: [] })).toBe("1 of 1 node in pool-7 could take it");
  });

  test("sentences", () => {
    expect(sentence("work goes to default")).toBe("Work goes to default.");
    expect(sentence("Done.")).toBe("Done.");
  });
});
