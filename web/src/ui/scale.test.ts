import { describe, expect, test } from "vitest";
import { nearest, rises, thin } from "./scale";

describe("charts", () => {
  test("the nearest point", () => {
    expect(nearest([], 5)).toBe(-1);
    expect(nearest([10], 99)).toBe(0);
    expect([0, 14, 16, 24, 26, 99].map((at) => nearest([10, 20, 30], at))).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test("where it rises", () => {
    expect(rises([])).toEqual([]);
    expect(rises([2, 2, 9, 9, 3, 4])).toEqual([
      { at: 2, by: 7 },
      { at: 5, by: 1 },
    ]);
  });

  test("a thinned list keeps its ends", () => {
    const list = Array.from({ length: 361 }, (_, i) => i);
    expect(thin(list, 13)).toEqual([0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 360]);
    expect(thin([1, 2], 13)).toEqual([1, 2]);
  });
});
