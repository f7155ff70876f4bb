import type { Alarm } from "../api/documents";
import type { AlarmRow } from "../wire/messages";

/** What several pages say of an alarm. */

/** What it is about: pool-7, cam-7, edge. */
export function about(a: Pick<AlarmRow, "pool" | "app" | "role" | "node">): string {
  return [a.pool, a.node, a.app, a.role].filter(Boolean).join(", ");
}

/** pool-7, cam-7: 9 draining, 3 without a free slot: as much as stands in the second line of a phone. */
export function inBrief(a: Pick<AlarmRow, "pool" | "app" | "role" | "node" | "detail">): string {
  return `${about({ ...a, role: "" })}: ${a.detail.replace(/^0 of \d+ nodes? can take it: /, "")}`;
}

const rank: Record<string, number> = { critical: 0, warning: 1 };

/** What nobody has seen yet first, the worse first, then the older. */
export function byUrgency(a: AlarmRow, b: AlarmRow): number {
  return (
    Number(a.acked_by !== "") - Number(b.acked_by !== "") ||
    (rank[a.severity] ?? 2) - (rank[b.severity] ?? 2) ||
    b.age_ms - a.age_ms ||
    a.id.localeCompare(b.id)
  );
}

/** A silenced alarm is kept from people's eyes, on its own page aside. */
export const isSilent = (a: Pick<AlarmRow, "silenced_for_ms">) => a.silenced_for_ms > 0;

/** An alarm of REST as a row of the channel, its ages counted to now. */
export function rowOfAlarm(a: Alarm, now: number): AlarmRow {
  const at = (time: string | undefined) => (time ? Date.parse(time) : 0);
  return {
    id: a.id,
    kind: a.kind,
    severity: a.severity,
    role: a.role ?? "",
    pool: a.pool ?? "",
    app: a.app ?? "",
    node: a.node ?? "",
    count: a.count,
    age_ms: Math.max(0, (a.resolvedAt ? at(a.resolvedAt) : now) - at(a.raisedAt)),
    last_ms: Math.max(0, now - at(a.lastAt)),
    waiting: a.waitingNow,
    detail: a.detail,
    acked_by: a.acknowledgedBy ?? "",
    silenced_for_ms: Math.max(0, at(a.silencedUntil) - now),
  };
}

/** u:1 is user 1 to people; names of people stay. */
export const person = (actor: string) => actor.replace(/^u:/, "user ");

/** The worst alarm of each pool that nobody silenced. */
export function worstOf(alarms: AlarmRow[]): Map<string, AlarmRow> {
  const worst = new Map<string, AlarmRow>();
  for (const a of alarms) {
    const other = worst.get(a.pool);
    if (a.pool && !isSilent(a) && (!other || (rank[a.severity] ?? 2) < (rank[other.severity] ?? 2))) worst.set(a.pool, a);
  }
  return worst;
}
