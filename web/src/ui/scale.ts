/** Where values of a chart stand. */

/** The index of the value nearest to `at` in an ascending list; -1: there is none. */
export function nearest(list: readonly number[], at: number): number {
  let low = 0;
  let high = list.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  if (list.length === 0) return -1;
  return Math.abs((list[low] ?? 0) - at) <= Math.abs((list[high] ?? 0) - at) ? low : high;
}

/** At most `most` of the list, evenly spread, first and last always among them. */
export function thin<T>(list: readonly T[], most: number): T[] {
  if (list.length <= most) return [...list];
  return Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))] as T);
}

/** Where a list rises above what it was before, and by how much. */
export function rises(list: readonly number[]): { at: number; by: number }[] {
  return list.flatMap((v, at) => {
    const by = v - (list[at - 1] ?? v);
    return by > 0 ? [{ at, by }] : [];
  });
}
