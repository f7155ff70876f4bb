import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../ui/Icon";
import styles from "./filter.module.css";

export interface FilterBarProps {
  label: string;
  /** Words that can be written, while there are none. */
  hint: string;
  query: string;
  onChange(query: string): void;
  /** What a word that was begun could become: keys, and values of a key. */
  complete(begun: string): string | undefined;
}

/** Words as chips, and the one that is being written behind them. */
export function FilterBar({ label, hint, query, onChange, complete }: FilterBarProps) {
  const words = query.split(/\s+/).filter(Boolean);
  const [begun, setBegun] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const rest = begun ? (complete(begun)?.slice(begun.length) ?? "") : "";

  const take = (word: string) => {
    setBegun("");
    if (word) onChange([...words, word].join(" "));
  };
  useEffect(() => {
    const drop = () => setBegun("");
    addEventListener("popstate", drop);
    return () => removeEventListener("popstate", drop);
  }, []);

  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Tab" && rest && !e.shiftKey) {
      e.preventDefault();
      const whole = begun + rest;
      if (whole.endsWith(":")) setBegun(whole);
      else take(whole);
    } else if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      take(begun.trim());
    } else if (e.key === "Backspace" && begun === "" && words.length > 0) {
      e.preventDefault();
      setBegun(words[words.length - 1] ?? "");
      onChange(words.slice(0, -1).join(" "));
    } else if (e.key === "Escape") {
      setBegun("");
      input.current?.blur();
    }
  };

  return (
    <div className={styles.bar}>
      <Icon name="search" />
      {words.map((word) => (
        <button
          key={word}
          type="button"
          className={styles.word}
          aria-label={`Drop ${word}`}
          onClick={() => onChange(words.filter((w) => w !== word).join(" "))}
        >
          <Chip word={word} />
        </button>
      ))}
      <span className={styles.entry}>
        <span className={styles.ghost} aria-hidden="true">
          <span>{begun}</span>
          {rest}
        </span>
        <input
          ref={input}
          data-search
          aria-label={label}
          value={begun}
          placeholder={words.length === 0 ? hint : ""}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          onChange={(e) => setBegun(e.target.value)}
          onKeyDown={onKey}
          onBlur={() => take(begun.trim())}
        />
      </span>
      {rest && (
        <span className={styles.hint} aria-hidden="true">
          <kbd>Tab</kbd> completes
        </span>
      )}
      {(words.length > 0 || begun) && (
        <button
          type="button"
          className={styles.clear}
          aria-label="Clear the filter"
          onClick={() => {
            setBegun("");
            onChange("");
          }}
        >
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}

function Chip({ word }: { word: string }) {
  const colon = word.indexOf(":");
  if (colon < 1) return <>{word}</>;
  return (
    <>
      <span>{word.slice(0, colon + 1)}</span>
      {word.slice(colon + 1)}
    </>
  );
}
