import type { Usage } from "../api/documents";

/** Work of a pool's apps, and how much of it ran as fallback. */
export interface Share {
  slotHours: number;
  fallbackHours: number;
  percent: number; // of all, that ran as fallback; 0 of nothing
}

/** What ran in the pool, and what its own apps had to run elsewhere. */
export function shareOf(usage: Usage[], pool: string, apps: ReadonlySet<string>): Share {
  let all = 0;
  let fallback = 0;
  for (const u of usage) {
    const fell = u.fallbackSlotSeconds + u.placementFallbackSlotSeconds;
    if (u.pool === pool) {
      all += u.slotSeconds + u.placementSlotSeconds;
      fallback += fell;
    } else if (apps.has(u.app)) {
      all += fell;
      fallback += fell;
    }
  }
  return { slotHours: all / 3600, fallbackHours: fallback / 3600, percent: all > 0 ? (fallback / all) * 100 : 0 };
}

/** The same of one app alone. */
export const shareOfApp = (usage: Usage[], pool: string, app: string) =>
  shareOf(
    usage.filter((u) => u.app === app),
    pool,
    new Set([app]),
  );

/** 4,980 of many hours, 1.4 of few. */
export const hours = (n: number) => (n > 0 && n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en-US"));
