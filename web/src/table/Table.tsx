import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, type ReactNode, useRef, useState, useSyncExternalStore } from "react";
import { Icon } from "../ui/Icon";
import { type Identified, useOrder } from "./order";
import { type Selection, useSelect } from "./select";
import styles from "./table.module.css";

export interface Column<Row> {
  key: string;
  head: string;
  /** A track of the grid: 96px, minmax(120px, 1fr). */
  width: string;
  number?: boolean;
  cell(row: Row): ReactNode;
  /** Without one the column can't be sorted by. */
  compare?(a: Row, b: Row): number;
}

export interface TableProps<Row> {
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  /** A column's key, with a minus for the other way round. */
  sort: string;
  onSort(sort: string): void;
  onOpen(row: Row): void;
  /** The same row as a card, for phones. */
  card(row: Row): ReactNode;
  empty: ReactNode;
  /** With it rows can be selected: by box, by x, with shift over a range. */
  selection?: Selection | undefined;
}

const rowHeight = 28;
const cardHeight = 76;

const narrow = "(max-width: 767px)";
const watchNarrow = (listener: () => void) => {
  const media = matchMedia(narrow);
  media.addEventListener("change", listener);
  return () => media.removeEventListener("change", listener);
};
export const useNarrow = () => useSyncExternalStore(watchNarrow, () => matchMedia(narrow).matches);

/** Thousands of live rows: only those in sight are drawn, and none jumps under a pointer. */
export function Table<Row extends Identified>(props: TableProps<Row>) {
  const { rows, columns, sort } = props;
  const [touched, setTouched] = useState(false);
  const phone = useNarrow();
  const scroller = useRef<HTMLDivElement>(null);
  const ordered = useOrder(rows, sort, comparer(columns, sort), touched || (props.selection?.ids.size ?? 0) > 0);
  const select = useSelect(ordered, phone ? undefined : props.selection);
  const virtual = useVirtualizer({
    count: ordered.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (phone ? cardHeight : rowHeight),
    getItemKey: (i) => ordered[i]?.id ?? i,
    overscan: 12,
  });
  const template = [...(select ? ["24px"] : []), ...columns.map((c) => c.width)].join(" ");
  const minWidth = phone ? undefined : widthOf(columns) + (select ? 24 + gap : 0);
  const items = virtual.getVirtualItems();
  const hold = {
    onPointerEnter: () => setTouched(true),
    onPointerLeave: () => setTouched(false),
    onFocus: () => setTouched(true),
    onBlur: () => setTouched(false),
  };
  return (
    <div
      ref={scroller}
      className={styles.scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
      tabIndex={0}
      role="table"
      aria-label={props.label}
      aria-rowcount={ordered.length + 1}
      {...hold}
      onKeyDown={select?.onKeyDown}
    >
      {!phone && <Head columns={columns} sort={sort} onSort={props.onSort} template={template} minWidth={minWidth} box={select?.head} />}
      {phone && (
        <div role="rowgroup" className="visually-hidden">
          <div role="row">
            <span role="columnheader">{props.label}</span>
          </div>
        </div>
      )}
      <div role="rowgroup" className={styles.rows} style={{ height: Math.max(virtual.getTotalSize(), 1), minWidth }}>
        {items.map((item) => {
          const row = ordered[item.index];
          if (!row) return null;
          const at = { transform: `translateY(${item.start}px)`, height: item.size };
          // Keys use the link in the row.
          const open = { onClick: (e: MouseEvent) => !(e.target as HTMLElement).closest("label") && props.onOpen(row) };
          return phone ? (
            <div key={item.key} role="row" aria-rowindex={item.index + 2} className={styles.card} style={at} {...open}>
              <div role="cell">{props.card(row)}</div>
            </div>
          ) : (
            <div
              key={item.key}
              role="row"
              aria-rowindex={item.index + 2}
              data-row={row.id}
              data-selected={select?.has(row.id) || undefined}
              className={styles.row}
              style={{ ...at, gridTemplateColumns: template }}
              {...open}
            >
              {select && <div role="cell">{select.box(row.id)}</div>}
              {columns.map((c) => (
                <div key={c.key} role="cell" data-number={c.number || undefined}>
                  {c.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
        {ordered.length === 0 && (
          <div role="row">
            <div role="cell">{props.empty}</div>
          </div>
        )}
      </div>
    </div>
  );
}

const gap = 12;
const padding = 16;

/** What the columns need at least, in pixels: with less the table scrolls. */
function widthOf<Row>(columns: Column<Row>[]): number {
  return columns.reduce((sum, c) => sum + Number(/\d+/.exec(c.width)?.[0] ?? 0) + gap, 2 * padding - gap);
}

function comparer<Row extends Identified>(columns: Column<Row>[], sort: string) {
  const down = sort.startsWith("-");
  const compare = columns.find((c) => c.key === (down ? sort.slice(1) : sort))?.compare;
  return (a: Row, b: Row) => (down ? -1 : 1) * (compare?.(a, b) ?? 0) || byText(a.id, b.id);
}

const collator = new Intl.Collator("en", { numeric: true });
export const byText = collator.compare;

interface HeadProps<Row> {
  columns: Column<Row>[];
  sort: string;
  onSort(sort: string): void;
  template: string;
  minWidth: number | undefined;
  box: ReactNode;
}

function Head<Row>({ columns, sort, onSort, template, minWidth, box }: HeadProps<Row>) {
  return (
    <div role="rowgroup" className={styles.head} style={{ minWidth }}>
      <div role="row" className={styles.headRow} style={{ gridTemplateColumns: template }}>
        {box && <div role="columnheader">{box}</div>}
        {columns.map((c) => {
          const up = sort === c.key;
          const down = sort === `-${c.key}`;
          return (
            <div key={c.key} role="columnheader" data-number={c.number || undefined} aria-sort={up ? "ascending" : down ? "descending" : undefined}>
              {c.compare ? (
                <button type="button" onClick={() => onSort(up ? `-${c.key}` : c.key)}>
                  {c.head}
                  {(up || down) && <Icon name={up ? "up" : "down"} size={12} />}
                </button>
              ) : (
                c.head
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
