import type { Explanation } from "../api/documents";
import { count, plural } from "../format";
import type { NodeWork } from "../wire/messages";

/** Something that would let a waiting job run. */
export interface Help {
  kind: "reserved" | "slots" | "hold" | "fewer" | "fallback";
  /** Nobody has to do anything. */
  itself: boolean;
  title: string;
  words: string;
  node?: string;
  /** Of slots: how many must get free; of fewer: how many to ask for. */
  slots?: number;
  /** Of a hold: what kind it is. */
  hold?: "auto" | "cordon" | "drain";
}

/** From so many percent on a job's progress says something of its end. */
const telling = 5;

/** How long until so many slots are free, when what runs there goes on as until now; undefined: nothing supports a guess. */
export function freedIn(running: Pick<NodeWork, "phase" | "percent" | "slots" | "started_at">[], slots: number, now: number): number | undefined {
  const ends = running
    .filter((w) => w.phase === "running" && w.started_at > 0 && w.percent >= telling)
    .map((w) => ({ slots: w.slots, left: (Math.max(0, now - w.started_at) * (100 - w.percent)) / w.percent }))
    .sort((a, b) => a.left - b.left);
  let freed = 0;
  for (const w of ends) {
    freed += w.slots;
    if (freed >= slots) return w.left;
  }
  return undefined;
}

/** Holds that a person can lift, in the order of their consequence. */
const holds: [reason: string, word: string, kind: "auto" | "cordon" | "drain"][] = [
  ["auto_hold", "automatic hold", "auto"],
  ["cordoned", "cordon", "cordon"],
  ["draining", "drain", "drain"],
];

/** What the explanation supports, and nothing else. */
export function helps(e: Explanation, ask: { app: string; slots: number; sharedFree: number }): Help[] {
  const list: Help[] = [];
  const kept = e.queue?.reserved;
  if (kept) {
    const free = e.pools.map((p) => p.nearest).find((r) => r?.node === kept)?.freeSlots;
    list.push({
      kind: "reserved",
      itself: true,
      title: `Room on ${kept}`,
      words: "It is reserved for this job: what is freed there goes to it.",
      node: kept,
      ...(free !== undefined && { slots: ask.slots - free }),
    });
  }
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
        words: `${count(room.freeSlots)} ${room.freeSlots === 1 ? "is" : "are"} free there; it lacks nothing else.`,
        slots: more,
        ...(room.node && { node: room.node }),
      });
    }
  }
  for (const p of e.pools) {
    for (const [reason, word, hold] of holds) {
      const held = p.alone.find((r) => r.reason === reason);
      if (!held) continue;
      const node = held.nodeIds?.[0];
      list.push({
        kind: "hold",
        itself: false,
        title: `Lift the ${word} of ${node ?? `one node of ${p.pool}`}`,
        words: held.nodes > 1 ? `Each of ${count(held.nodes)} could take it at once.` : "It could take it at once.",
        hold,
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
