import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { RowBox } from "../ui/fields";
import type { Identified } from "./order";

/** The rows from one to another, both included, in the order in which they stand. */
export function between(ids: string[], from: string, to: string): string[] {
  const [a, b] = [ids.indexOf(from), ids.indexOf(to)];
  return a < 0 || b < 0 ? [to] : ids.slice(Math.min(a, b), Math.max(a, b) + 1);
}

export interface Selection {
  ids: ReadonlySet<string>;
  onChange(ids: ReadonlySet<string>): void;
}

export interface Select {
  has(id: string): boolean;
  head: ReactNode;
  box(id: string): ReactNode;
  onKeyDown(e: KeyboardEvent): void;
}

/** The boxes of a table's rows. */
export function useSelect(rows: Identified[], selection: Selection | undefined): Select | undefined {
  const anchor = useRef("");
  if (!selection) return undefined;
  const { ids, onChange } = selection;
  const set = (id: string, on: boolean, range: boolean) => {
    const next = new Set(ids);
    const part =
      range && anchor.current
        ? between(
            rows.map((r) => r.id),
            anchor.current,
            id,
          )
        : [id];
    for (const one of part) {
      if (on) next.add(one);
      else next.delete(one);
    }
    anchor.current = id;
    onChange(next);
  };
  const chosen = rows.reduce((n, r) => n + (ids.has(r.id) ? 1 : 0), 0);
  return {
    has: (id) => ids.has(id),
    head: (
      <RowBox
        label={`Select all ${rows.length} rows`}
        checked={rows.length > 0 && chosen === rows.length}
        some={chosen > 0}
        onChange={(on) => onChange(on ? new Set([...ids, ...rows.map((r) => r.id)]) : new Set())}
      />
    ),
    box: (id) => <RowBox label={`Select ${id}`} checked={ids.has(id)} onChange={(on, range) => set(id, on, range)} />,
    onKeyDown(e) {
      if (e.key !== "x" || e.ctrlKey || e.metaKey || e.altKey) return;
      const id = rowOf(e);
      if (id) set(id, !ids.has(id), false);
    },
  };
}

/** The row that has the focus, or else the one under the pointer. */
function rowOf(e: KeyboardEvent): string | undefined {
  const focused = (e.target as HTMLElement).closest<HTMLElement>("[data-row]");
  return (focused ?? e.currentTarget.querySelector<HTMLElement>("[data-row]:hover"))?.dataset.row;
}
