import { count } from "../format";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import styles from "./filter.module.css";
import { chosen, toggle } from "./words";

/** One chip a state that there is, with its number; a press puts it into the words. */
export function StateChips({
  counts,
  query,
  onChange,
  note,
}: {
  counts: [state: string, n: number][];
  query: string;
  onChange(query: string): void;
  note?: string | undefined;
}) {
  const shown = counts.filter(([state, n]) => n > 0 || chosen(query, "state", state));
  if (shown.length === 0) return null;
  return (
    <div className={styles.chips}>
      {shown.map(([state, n]) => (
        <button key={state} type="button" aria-pressed={chosen(query, "state", state)} onClick={() => onChange(toggle(query, "state", state))}>
          <Glyph of={state} size={10} /> {state.replace("_", " ")} <small>{count(n)}</small>
        </button>
      ))}
      {note && (
        <span>
          <Icon name="lock" size={14} /> {note}
        </span>
      )}
    </div>
  );
}
