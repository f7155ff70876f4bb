import { useRef } from "react";

/** Rows are put in order anew at most this often, and never under a pointer. */
const every = 1000;

export interface Identified {
  id: string;
}

/**
 * Keeps the order of live rows calm: between two sorts rows change in place, new
 * ones come at the end, those that are gone leave.
 */
export class Order<Row extends Identified> {
  private ids: string[] = [];
  private key = "";
  private at = Number.NEGATIVE_INFINITY;

  apply(rows: Row[], key: string, compare: (a: Row, b: Row) => number, frozen: boolean, now: number): Row[] {
    const due = key !== this.key || (!frozen && now - this.at >= every);
    if (due) {
      const sorted = rows.toSorted(compare);
      this.ids = sorted.map((r) => r.id);
      this.key = key;
      this.at = now;
      return sorted;
    }
    const left = new Map(rows.map((r) => [r.id, r]));
    const kept: Row[] = [];
    for (const id of this.ids) {
      const row = left.get(id);
      if (row && left.delete(id)) kept.push(row);
    }
    for (const row of left.values()) kept.push(row);
    this.ids = kept.map((r) => r.id);
    return kept;
  }
}

export function useOrder<Row extends Identified>(rows: Row[], key: string, compare: (a: Row, b: Row) => number, frozen: boolean): Row[] {
  const order = useRef<Order<Row>>(null);
  order.current ??= new Order<Row>();
  return order.current.apply(rows, key, compare, frozen, Date.now());
}
