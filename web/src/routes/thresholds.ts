import type { Thresholds } from "../api/documents";

/** Thresholds as people write them. */

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The milliseconds of 90s, 10m or 1h30m; undefined: it is no such span. */
export function spanOf(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let all = 0;
  for (const [, n, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) all += Number(n) * (units[unit ?? ""] ?? 0);
  return all;
}

/** 60s, 5m, 1h30m */
export function spanWords(ms: number): string {
  const s = Math.round(ms / 1000);
  if (s < 120) return `${s}s`;
  const [h, m, rest] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60), s % 60];
  return `${h ? `${h}h` : ""}${m ? `${m}m` : ""}${rest ? `${rest}s` : ""}`;
}

/** A whole number from 0 to `most`; undefined: it is none. */
export function wholeNumber(text: string, most = 1_000_000_000): number | undefined {
  const n = /^\d{1,10}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return n <= most ? n : undefined;
}

/** The three fields read; undefined when one of them can't be. */
export function thresholdsOf(wait: string, free: string, share: string): Thresholds | undefined {
  const freeSlots = wholeNumber(free);
  const notReadyPct = wholeNumber(share, 100);
  if (spanOf(wait.trim()) === undefined || freeSlots === undefined || notReadyPct === undefined) return undefined;
  return { queueWait: wait.trim(), freeSlots, notReadyPct };
}
