import { describe, expect, it } from "vitest";
import { waitText } from "./waits";

const none = { pool: 0, fairness: 0, backoff: 0, quota: 0, hold: 0, offer: 0 };

describe("waitText", () => {
  it("splits the time by what was waited for", () => {
    expect(waitText({ queuedMs: 252_000, waits: { ...none, pool: 180_000, fairness: 72_000 } })).toBe("4m 12s: 3m 00s no node, 1m 12s fairness");
    expect(waitText({ waits: { ...none, hold: 3_600_000, offer: 12 } })).toBe("1h 00m: 1h 00m held, 12ms offer");
  });
  it("says the sum alone where nothing is known of its parts", () => {
    expect(waitText({ queuedMs: 1500 })).toBe("1.5s");
    expect(waitText({ queuedMs: 0, waits: none })).toBe("0ms");
  });
});
