/** Numbers, times and ids as the pages write them. */

const numbers = new Intl.NumberFormat("en-US");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const shortClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** 1,896 */
export const count = (n: number) => numbers.format(n);

/** 1 node, 2 nodes */
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** A span in its two largest units: 4m 12s. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3600)}h`;
}

/** A short span with its milliseconds where they say something: 1.8s, 320ms. */
export function fine(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : duration(ms);
}

/** A span whose milliseconds matter only while it is short. */
export const span = (ms: number) => (ms < 10_000 ? fine(Math.max(0, ms)) : duration(ms));

/** An age in one unit: 3s, 14m, 2h. */
export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  return s < 86_400 ? `${Math.floor(s / 3600)}h` : `${Math.floor(s / 86_400)}d`;
}

/** 15:04:22, with the day when it was another one. */
export function moment(at: number | string): string {
  const date = new Date(at);
  const text = clock.format(date);
  return date.toDateString() === new Date().toDateString() ? text : `${day.format(date)} ${text}`;
}

export const hourMinute = (at: number) => shortClock.format(at);

/** The first 13 characters of a job's id; the whole one stands in its tooltip. */
export const shortId = (id: string) => (id.length > 20 ? id.slice(0, 13) : id);

/** sha256:9f31…c07e */
export function shortDigest(digest: string): string {
  const hex = digest.replace(/^sha256:/, "");
  return hex.length > 12 ? `sha256:${hex.slice(0, 4)}…${hex.slice(-4)}` : digest;
}

/** 8 MiB */
export function bytes(n: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  let value = n;
  while (value >= 1024 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return `${i === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[i]}`;
}
