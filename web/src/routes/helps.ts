import type { Explanation } from "../api/documents";
import { count, plural } from "../format";

/** Something that would let a waiting job run. */
export interface Help {
  kind: "reserved" | "slots" | "hold" | "fewer" | "fallback";
  /** Nobody has to do anything. */
  itself: boolean;
  title: string;
  words: string;
  node?: string;
  slots?: number;
}

/** Holds that a person can lift, in the order of their consequence. */
const holds: [reason: string, word: string][] = [
  ["auto_hold", "automatic hold"],
  ["cordoned", "cordon"],
  ["draining", "drain"],
];

/** What the explanation supports, and nothing else. */
export function helps(e: Explanation, ask: { app: string; slots: number; sharedFree: number }): Help[] {
  const list: Help[] = [];
  const kept = e.queue?.reserved;
  if (kept)
    list.push({ kind: "reserved", itself: true, title: `Room on ${kept}`, words: "It is reserved for this job: what is freed there goes to it.", node: kept });
  for (const p of e.pools) {
    const room = p.nearest;
    if (!room || (kept && room.node === kept)) continue;
    const more = ask.slots - room.freeSlots;
    if (more > 0) {
      const where = room.node ? `on ${room.node}` : `on one node of ${p.pool}`;
      list.push({
        kind: "slots",
        itself: true,
        title: `${plural(more, "more free slot")} ${where}`,
        words: `${count(room.freeSlots)} are free there; it lacks nothing else.`,
      });
    }
  }
  for (const p of e.pools) {
    for (const [reason, word] of holds) {
      const held = p.alone.find((r) => r.reason === reason);
      if (!held) continue;
      const node = held.nodeIds?.[0];
      list.push({
        kind: "hold",
        itself: false,
        title: `Lift the ${word} of ${node ?? `one node of ${p.pool}`}`,
        words: held.nodes > 1 ? `Each of ${count(held.nodes)} could take it at once.` : "It could take it at once.",
        ...(node && { node }),
      });
    }
  }
  const room = e.pools.map((p) => p.roomiest).find((r) => r && r.freeSlots > 0 && r.freeSlots < ask.slots);
  if (room) {
    list.push({
      kind: "fewer",
      itself: false,
      title: `Ask for ${plural(room.freeSlots, "slot")} or fewer`,
      words: `Cancel and submit again; ${room.node || "a node"} could take it now.`,
      slots: room.freeSlots,
    });
  }
  if (e.pools.length > 0 && !e.pools.some((p) => p.pool === "default") && ask.sharedFree >= Math.max(1, ask.slots)) {
    list.push({
      kind: "fallback",
      itself: false,
      title: `Allow ${ask.app} to fall back to default`,
      words: `Crosses the isolation of ${e.pools[0]?.pool}: default has ${plural(ask.sharedFree, "free slot")}; each use is recorded.`,
    });
  }
  return list;
}
