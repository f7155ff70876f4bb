import type { Inventory } from "../api/documents";
import { bytes, count, plural } from "../format";

const mib = 1_048_576;

/** What a node says that it has, as names and lines; what it does not have is left out. */
export function inventoryRows(i: Inventory): [label: string, lines: string[]][] {
  const { totalMib, freeMib } = i.artifactDisk;
  const rows: [string, string[]][] = [
    ["Platform", i.platform ? [i.platform] : []],
    ["Processor", i.archs.length > 0 ? [i.archs.join(", ")] : []],
    ["Memory", i.memory.map((m) => `${m.name}, ${bytes(m.totalMib * mib)}`)],
    ["Accelerators", i.accelerators.map((a) => [a.name, a.kind, a.model].filter(Boolean).join(", "))],
    ["Disk", totalMib > 0 ? [`${bytes(freeMib * mib)} of ${bytes(totalMib * mib)} free`] : []],
    ["Links", i.links.map((l) => `${l.peer}, ${l.kind}, ${count(l.mbps)} Mbit/s`)],
    ["Cached", i.cached.length > 0 ? [`${plural(i.cached.length, "artifact")}, ${bytes(i.cached.reduce((sum, c) => sum + c.size, 0))}`] : []],
    ["Isolation", i.isolation.length > 0 ? [i.isolation.join(", ")] : []],
    ["Commands", i.commands.length > 0 ? [i.commands.join(", ")] : []],
  ];
  return rows.filter(([, lines]) => lines.length > 0);
}
