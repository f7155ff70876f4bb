import { describe, expect, test } from "vitest";
import type { AppImpact, Impact } from "../api/documents";
import { exhausted, impactGlyph, impactWords, warning } from "./impact";

const app = (name: string, before: number, after: number, over: Partial<AppImpact> = {}): AppImpact => ({
  app: name,
  owner: "7",
  role: "edge",
  before,
  after,
  waiting: 0,
  fallbackAllowed: false,
  ...over,
});
const impact = (...apps: AppImpact[]): Impact => ({ at: "2026-11-29T15:04:21.000Z", pools: [], apps, running: [], waiting: 0, placements: 0 });

describe("what a change would do to an app", () => {
  test.each([
    [app("a", 2, 0), "critical", "loses both its nodes, then its work waits"],
    [app("a", 1, 0), "critical", "loses its only node, then its work waits"],
    [app("a", 14, 0), "critical", "loses all its 14 nodes, then its work waits"],
    [app("a", 0, 0, { waiting: 37 }), "critical", "stays exhausted, 37 jobs wait"],
    [app("a", 0, 0), "critical", "stays exhausted"],
    [app("a", 3, 1), "warning", "one node left"],
    [app("a", 1, 1), "succeeded", "no change"],
    [app("a", 9, 7), "succeeded", "7 nodes left"],
    [app("a", 0, 2), "succeeded", "gains 2 nodes"],
  ])("%j: %s, %s", (a, glyph, words) => {
    expect(impactGlyph(a)).toBe(glyph);
    expect(impactWords(a)).toBe(words);
  });

  test("counts those without a node, before and after", () => {
    expect(exhausted(impact(app("a", 2, 0), app("b", 0, 0), app("c", 3, 1)))).toEqual({ before: 1, after: 2 });
  });

  test("asks to agree only to what is lost", () => {
    expect(warning(impact(app("a", 0, 0), app("b", 3, 1)))).toBeNull();
    expect(warning(impact(app("relay-7", 2, 0)))).toEqual({ who: "relay-7 will have no usable node.", rest: "Its fallback is off." });
    expect(warning(impact(app("a", 2, 0), app("b", 1, 0, { fallbackAllowed: true })))).toEqual({
      who: "a and b will have no usable node.",
      rest: "Their fallback finds none in default either.",
    });
    const many = ["a", "b", "c", "d", "e"].map((n) => app(n, 1, 0));
    expect(warning(impact(...many))?.who).toBe("a, b and 3 more apps will have no usable node.");
  });
});
