import type { AppImpact, Impact } from "../api/documents";
import { count, plural } from "../format";

/** What a dry run says, in words. */

/** Those that would lose their last usable node. */
export const newlyExhausted = (impact: Impact) => impact.apps.filter((a) => a.before > 0 && a.after === 0);

/** How many apps have no usable node, before and after. */
export function exhausted(impact: Impact): { before: number; after: number } {
  const without = (n: (a: AppImpact) => number) => impact.apps.filter((a) => n(a) === 0).length;
  return { before: without((a) => a.before), after: without((a) => a.after) };
}

export function impactGlyph(a: AppImpact): "critical" | "warning" | "succeeded" {
  if (a.after === 0) return "critical";
  return a.after === 1 && a.before > 1 ? "warning" : "succeeded";
}

export function impactWords(a: AppImpact): string {
  if (a.after === 0 && a.before === 0) return a.waiting > 0 ? `stays exhausted, ${plural(a.waiting, "job waits", "jobs wait")}` : "stays exhausted";
  if (a.after === 0) return `loses ${lost(a.before)}, then its work waits`;
  if (a.after === a.before) return "no change";
  if (a.after > a.before) return `gains ${plural(a.after - a.before, "node")}`;
  return `${a.after === 1 ? "one node" : plural(a.after, "node")} left`;
}

const lost = (n: number) => (n === 1 ? "its only node" : n === 2 ? "both its nodes" : `all its ${count(n)} nodes`);

/** relay-7, of role edge where it says one */
export const appOf = (a: Pick<AppImpact, "app" | "role">) => (a.role ? `${a.app}, ${a.role}` : a.app);

/** The sentence that has to be agreed to; empty: nothing is lost. */
export function warning(impact: Impact): { who: string; rest: string } | null {
  const apps = newlyExhausted(impact);
  if (apps.length === 0) return null;
  const names = [...new Set(apps.map((a) => a.app))];
  const off = apps.every((a) => !a.fallbackAllowed);
  const who = names.length <= 3 ? list(names) : `${names.slice(0, 2).join(", ")} and ${plural(names.length - 2, "more app")}`;
  const their = names.length === 1 ? "Its" : "Their";
  return { who: `${who} will have no usable node.`, rest: off ? `${their} fallback is off.` : `${their} fallback finds none in default either.` };
}

const list = (names: string[]) => (names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
