import { expect, it } from "vitest";
import type { NodeRow } from "../wire/messages";
import { nodesCsv } from "./nodescsv";

it("quotes what needs it and disarms formulas", () => {
  const hold = { kind: "cordon", owner: "operator", actor: "u:1", reason: 'new "disk", rack 14', left_ms: -1 };
  const node = { id: "a", pool: "p", role: "edge", backend: "=1+1", region: "", lease: "ready", holds: [hold], running: [] } as unknown as NodeRow;
  const full = { ...node, slots_used: 1, slots_total: 4, last_seen_ms: -1, epoch: 2, agent_version: "1.0" };
  expect(nodesCsv([full]).split("\r\n")[1]).toBe(`cordoned,a,p,edge,'=1+1,,1,4,0,-1,2,1.0,"cordon, user 1: new ""disk"", rack 14"`);
});
