import { describe, expect, it } from "vitest";
import type { PoolRow } from "../wire/messages";
import { emptyPools, reachWords } from "./aligned";

const pool = (id: string, kind: string, ready: number, canary = false) =>
  ({ id, kind, canary, nodes: { ready, suspect: 0, lost: 0, left: 1, new: 0 } }) as unknown as PoolRow;

describe("alignment", () => {
  it("names pools without a node", () => {
    expect(emptyPools([pool("default", "default", 0), pool("pool-3", "user", 0), pool("pool-5", "user", 2), pool("unassigned", "unassigned", 0)])).toEqual([
      "pool-3",
    ]);
  });
  it("tells a canary from a pool that was forgotten", () => {
    const rows = [pool("canary-arm", "named", 3, true), pool("pool-9", "user", 2)];
    const arm = { pool: "canary-arm", kind: "named", nodes: 3 };
    expect(reachWords([arm], rows)).toEqual({ ok: true, text: "every pool with nodes is resolved to, canary-arm and unassigned aside" });
    expect(reachWords([arm, { pool: "pool-9", kind: "user", nodes: 2 }], rows)).toEqual({ ok: false, text: "nothing resolves to pool-9 (2 nodes)" });
  });
});
