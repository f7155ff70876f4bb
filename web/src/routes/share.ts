import type { Share } from "../api/documents";

/** A share as its form has it: texts; an empty bound is none. */
export type Bounds = Record<keyof Share, string>;

export function boundsOf(share: Share): Bounds {
  const text = (n: number) => (n > 0 ? String(n) : "");
  return {
    weight: String(share.weight),
    maxOpenJobs: text(share.maxOpenJobs),
    maxPlacements: text(share.maxPlacements),
    maxSlots: text(share.maxSlots),
  };
}

/** The share, or null while something is no number that it may be. */
export function readShare(values: Bounds): Share | null {
  const read = (text: string) => (text.trim() === "" ? 0 : /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN);
  const share = {
    weight: read(values.weight),
    maxOpenJobs: read(values.maxOpenJobs),
    maxPlacements: read(values.maxPlacements),
    maxSlots: read(values.maxSlots),
  };
  const good = Object.values(share).every((n) => !Number.isNaN(n)) && share.weight >= 1 && share.weight <= 1000;
  return good ? share : null;
}
