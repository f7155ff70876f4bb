import { describe, expect, test } from "vitest";
import { hours, shareOf, shareOfApp } from "./usage";

const row = (app: string, pool: string, slotSeconds: number, fallbackSlotSeconds = 0) => ({
  day: "2026-11-29",
  app,
  pool,
  attempts: 1,
  slotSeconds,
  fallbackSlotSeconds,
  placements: 0,
  placementSlotSeconds: 0,
  placementFallbackSlotSeconds: 0,
});

describe("usage", () => {
  const usage = [row("cam-7", "pool-7", 7200), row("cam-7", "default", 1800, 1800), row("chat", "default", 3600)];

  test("a pool's own apps count where they ran as fallback", () => {
    expect(shareOf(usage, "pool-7", new Set(["cam-7"]))).toEqual({ slotHours: 2.5, fallbackHours: 0.5, percent: 20 });
  });

  test("default counts what ran in it, a stranger's fallback too", () => {
    expect(shareOf(usage, "default", new Set(["chat"]))).toEqual({ slotHours: 1.5, fallbackHours: 0.5, percent: (1 / 3) * 100 });
  });

  test("placements count as jobs do", () => {
    const placed = [{ ...row("cam-7", "pool-7", 3600), placements: 1, placementSlotSeconds: 7200 }];
    const fell = { ...row("cam-7", "default", 0), placements: 1, placementSlotSeconds: 3600, placementFallbackSlotSeconds: 3600 };
    expect(shareOf([...placed, fell], "pool-7", new Set(["cam-7"]))).toEqual({ slotHours: 4, fallbackHours: 1, percent: 25 });
  });

  test("one app of a pool, and nothing at all", () => {
    expect(shareOfApp(usage, "pool-7", "chat")).toEqual({ slotHours: 0, fallbackHours: 0, percent: 0 });
    expect(shareOfApp(usage, "pool-7", "cam-7").percent).toBe(20);
  });

  test.each([
    [0, "0"],
    [0.04, "0.0"],
    [1.44, "1.4"],
    [4980.2, "4,980"],
  ])("%d hours read %s", (n, text) => expect(hours(n)).toBe(text));
});
