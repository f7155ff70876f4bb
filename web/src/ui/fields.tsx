import { type ReactNode, useId } from "react";
import styles from "./fields.module.css";
import { Icon } from "./Icon";

/** Fields that are no line of text. */

export interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange(value: string): void;
  hint?: ReactNode;
}

/** One of a list, by the browser's own menu. */
export function Select({ label, value, options, onChange, hint }: SelectProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(e) => onChange(e.target.value)} aria-describedby={hint ? `${id}-hint` : undefined}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {hint && (
        <span id={`${id}-hint`} className={styles.hint}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** A small filter in the head of a page; `/` leads to it. */
export function QuickFilter({ label, hint = label, value, onChange }: { label: string; hint?: string; value: string; onChange(value: string): void }) {
  return (
    <label className={styles.quickFilter}>
      <Icon name="filter" />
      <span className="visually-hidden">{label}</span>
      <input data-search value={value} placeholder={hint} onChange={(e) => onChange(e.target.value)} />
    </label>
  );
}

/** A box with its sentence. */
export function Check({ checked, onChange, children }: { checked: boolean; onChange(checked: boolean): void; children: ReactNode }) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={checked} onChange={(e) => onChange(e.target.checked)} />
      <span>{children}</span>
    </label>
  );
}

/** A box of a table, named for those who can't see its row; range: shift was held. */
export function RowBox({
  label,
  checked,
  some,
  onChange,
}: {
  label: string;
  checked: boolean;
  some?: boolean;
  onChange(checked: boolean, range: boolean): void;
}) {
  return (
    <label className={styles.row}>
      <span className="visually-hidden">{label}</span>
      <input
        type="checkbox"
        checked={checked}
        ref={(box) => {
          if (box) box.indeterminate = Boolean(some) && !checked;
        }}
        onChange={(e) => onChange(e.target.checked, (e.nativeEvent as MouseEvent).shiftKey)}
      />
    </label>
  );
}
