import { describe, expect, it } from "vitest";
import { states } from "./routes/pool";
import { clockWords, frozenWords, nodeState, outOfUse } from "./state";

const hold = (kind: string) => [{ kind, owner: "operator", actor: "", reason: "", left_ms: -1 }];
const node = { lease: "ready", holds: hold("cordon").slice(1), healthy: true, accepting: true, pool: "pool-1", slots_total: 4, slots_used: 1 };

describe("frozenWords", () => {
  it("tells what is from what was", () => {
    expect(frozenWords({ frozen_by: "database", frozen_for_ms: 0 })).toBe("the database is away");
    expect(frozenWords({ frozen_by: "database", frozen_for_ms: 1000 })).toBe("the database was away");
    expect(frozenWords({ frozen_by: "standstill", frozen_for_ms: 1000 })).toBe("the server stood still");
    expect(frozenWords({ frozen_by: "eclipse", frozen_for_ms: 1000 })).toBe("eclipse");
  });
});

describe("one word", () => {
  it.each([
    [node, "ready", 0],
    [{ ...node, pool: "unassigned" }, "ready", 3],
    [{ ...node, holds: hold("cordon"), healthy: false }, "cordoned", 3],
    [{ ...node, healthy: false }, "unhealthy", 3],
    [{ ...node, accepting: false }, "unhealthy", 3],
    [{ ...node, lease: "lost", holds: hold("cordon") }, "lost", 3],
  ])("%j is %s", (n, word, out) => {
    expect(nodeState(n)).toBe(word);
    expect(outOfUse(n)).toBe(out);
  });

  it("counts each node of a pool once", () => {
    const parts = states({ ready: 9, suspect: 1, lost: 2, left: 0, new: 0, draining: 2, cordoned: 0, quarantined: 0, auto_held: 1, unhealthy: 2 });
    expect(parts.map((p) => `${p.n} ${p.state}`)).toEqual(["4 ready", "1 suspect", "2 draining", "1 held", "2 unhealthy", "2 lost"]);
  });
});

it("says how far a clock is off", () => {
  expect(clockWords(125_000)).toBe("2m 05s ahead of the server's");
  expect(clockWords(-1_500)).toBe("1.5s behind the server's");
});
