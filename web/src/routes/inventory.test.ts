import { describe, expect, it } from "vitest";
import type { Inventory } from "../api/documents";
import { inventoryRows } from "./inventory";

const none: Inventory = {
  rev: 1,
  at: "2026-11-29T12:00:00Z",
  stale: false,
  platform: "",
  archs: [],
  accelerators: [],
  memory: [],
  links: [],
  artifactDisk: { totalMib: 0, freeMib: 0 },
  cached: [],
  commands: [],
  isolation: [],
};

describe("inventoryRows", () => {
  it("has a line for each thing", () => {
    const rows = inventoryRows({
      ...none,
      platform: "Debian GNU/Linux 12, Linux 6.1.0",
      archs: ["amd64", "amd64-v2"],
      accelerators: [
        { name: "nvidia0", kind: "gpu", model: "NVIDIA L4" },
        { name: "accel0", kind: "npu" },
      ],
      memory: [{ name: "ram", kind: "ram", totalMib: 16_384 }],
      links: [{ peer: "edge-2", kind: "lan", mbps: 10_000 }],
      artifactDisk: { totalMib: 2_048, freeMib: 1_024 },
      cached: [
        { digest: "sha256:00", size: 1_048_576 },
        { digest: "sha256:01", size: 1_048_576 },
      ],
      commands: ["ffmpeg", "vmaf"],
      isolation: ["user", "memory"],
    });
    expect(rows).toEqual([
      ["Platform", ["Debian GNU/Linux 12, Linux 6.1.0"]],
      ["Processor", ["amd64, amd64-v2"]],
      ["Memory", ["ram, 16 GiB"]],
      ["Accelerators", ["nvidia0, gpu, NVIDIA L4", "accel0, npu"]],
      ["Disk", ["1 GiB of 2 GiB free"]],
      ["Links", ["edge-2, lan, 10,000 Mbit/s"]],
      ["Cached", ["2 artifacts, 2 MiB"]],
      ["Isolation", ["user, memory"]],
      ["Commands", ["ffmpeg, vmaf"]],
    ]);
  });
  it("leaves out what a node does not have", () => {
    expect(inventoryRows(none)).toEqual([]);
  });
});
