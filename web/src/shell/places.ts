import type { Session } from "../api/documents";
import { isSuperadmin, mayWatch } from "../session";
import type { IconName } from "../ui/Icon";

/** The pages that stand in the sidebar, by subject. */

export type Place = "/" | "/nodes" | "/jobs" | "/placements" | "/alarms" | "/apps" | "/users" | "/audit";

export interface PlaceEntry {
  to: Place;
  text: string;
  icon: IconName;
  /** Pressed after g. */
  key: string;
  /** A phone's bottom bar has no room for it. */
  more?: boolean;
}

/** What everybody has; on a phone most of these stand in the bottom bar. */
export const places: PlaceEntry[] = [
  { to: "/", text: "Fleet", icon: "fleet", key: "f" },
  { to: "/nodes", text: "Nodes", icon: "nodes", key: "n" },
  { to: "/jobs", text: "Jobs", icon: "jobs", key: "j" },
  { to: "/placements", text: "Placements", icon: "pin", key: "p", more: true },
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
