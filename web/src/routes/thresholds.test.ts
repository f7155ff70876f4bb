import { describe, expect, test } from "vitest";
import { spanOf, spanWords, thresholdsOf, wholeNumber } from "./thresholds";

describe("thresholds as people write them", () => {
  test.each([
    ["60s", 60_000],
    ["1h30m", 5_400_000],
    ["1.5m", 90_000],
    ["250ms", 250],
    ["60", undefined],
    ["5 m", undefined],
    ["-5m", undefined],
    ["", undefined],
  ])("%s is %s ms", (text, ms) => expect(spanOf(text)).toBe(ms));

  test.each([0, 60_000, 90_000, 120_000, 3_600_000, 5_400_000, 3_661_000])("%d ms are written as they are read", (ms) => {
    expect(spanOf(spanWords(ms))).toBe(ms);
  });

  test.each([
    ["0", 0],
    [" 7", 7],
    ["101", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["", undefined],
  ])("%s is %s", (text, n) => expect(wholeNumber(text, 100)).toBe(n));

  test("one that can't be read spoils all three", () => {
    expect(thresholdsOf("5m", "2", "50")).toEqual({ queueWait: "5m", freeSlots: 2, notReadyPct: 50 });
    expect(thresholdsOf("5", "2", "50")).toBeUndefined();
    expect(thresholdsOf("5m", "", "50")).toBeUndefined();
    expect(thresholdsOf("5m", "2", "150")).toBeUndefined();
  });
});
