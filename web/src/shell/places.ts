import type { Session } from "../api/documents";
import { isSuperadmin, mayWatch } from "../session";
import type { IconName } from "../ui/Icon";

/** The pages that stand in the sidebar, by subject. */

export type Place = "/" | "/nodes" | "/jobs" | "/alarms" | "/apps" | "/users" | "/audit";

export interface PlaceEntry {
  to: Place;
  text: string;
  icon: IconName;
  /** Pressed after g. */
  key: string;
}

/** What everybody has; on a phone these stand in the bottom bar. */
export const places: PlaceEntry[] = [
  { to: "/", text: "Fleet", icon: "fleet", key: "f" },
  { to: "/nodes", text: "Nodes", icon: "nodes", key: "n" },
  { to: "/jobs", text: "Jobs", icon: "jobs", key: "j" },
];
const alarms: PlaceEntry = { to: "/alarms", text: "Alarms", icon: "bell", key: "a" };
const steer: PlaceEntry[] = [{ to: "/apps", text: "Apps and bindings", icon: "box", key: "b" }];
const access: PlaceEntry[] = [
  { to: "/users", text: "Users", icon: "user", key: "s" },
  { to: "/audit", text: "Audit", icon: "list", key: "u" },
];

/** Those of one's role, in groups; the first has no name. */
export function placesFor(session: Session | null): { name: string; places: PlaceEntry[] }[] {
  const groups = [{ name: "", places: mayWatch(session) ? [...places, alarms] : places }];
  if (!isSuperadmin(session)) return groups;
  return [...groups, { name: "Steer", places: steer }, { name: "Access", places: access }];
}
