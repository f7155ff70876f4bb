import { Component, type ReactNode, useEffect, useState } from "react";
import { Refusal } from "../api/client";
import { Button } from "./controls";
import { Glyph } from "./Glyph";
import styles from "./panel.module.css";

/**
 * A panel and its states: loading, empty, partial, error; stale is the page's.
 * What breaks in a panel stays in it.
 */

export interface PanelProps {
  title?: ReactNode;
  note?: ReactNode;
  /** At the right of the head. */
  side?: ReactNode;
  label?: string;
  flush?: boolean;
  grow?: boolean;
  children: ReactNode;
}

export function Panel({ title, note, side, label, flush, grow, children }: PanelProps) {
  const name = label ?? (typeof title === "string" ? title : undefined);
  return (
    <section className={`${styles.panel} ${grow ? styles.grow : ""}`} aria-label={name}>
      {title !== undefined && (
        <header className={styles.head}>
          <h2>{title}</h2>
          {note !== undefined && <span className={styles.note}>{note}</span>}
          {side !== undefined && <span className={styles.side}>{side}</span>}
        </header>
      )}
      <Boundary>{flush ? children : <div className={styles.body}>{children}</div>}</Boundary>
    </section>
  );
}

/** A row of numbers, one large one each. */
export function Strip({ children }: { children: ReactNode }) {
  return <dl className={styles.strip}>{children}</dl>;
}

export interface FigureProps {
  label: string;
  /** In its place on a phone. */
  short?: string;
  value: ReactNode;
  note?: ReactNode;
  children?: ReactNode;
}

export function Figure({ label, short, value, note, children }: FigureProps) {
  return (
    <div className={styles.figure}>
      <dt>
        <span className={short ? styles.long : undefined}>{label}</span>
        {short && <span className={styles.short}>{short}</span>}
      </dt>
      <dd>
        <strong>{value ?? <Gray wide={56} />}</strong>
        {note !== undefined && <span className={styles.note}>{note}</span>}
        {children}
      </dd>
    </div>
  );
}

/** A short fact of a strip: label above, words below. */
export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Names and values, one line each. */
export function Facts({ rows, wide }: { rows: [label: string, value: ReactNode][]; wide?: boolean }) {
  return (
    <dl className={`${styles.facts} ${wide ? styles.wideFacts : ""}`}>
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Why there is nothing, and the next action. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <strong>{title}</strong>
      {children && <div>{children}</div>}
    </div>
  );
}

/** Gray blocks in the place of numbers, after 150 ms: a quick answer shows none. */
export function Gray({ wide = 120, lines = 1 }: { wide?: number; lines?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  const blocks = Array.from({ length: lines }, (_, i) => `line-${i}`);
  return (
    <span className={styles.loading} role="status" aria-label="Loading">
      {blocks.map((id, i) => (
        <span key={id} style={{ width: wide - i * 12, visibility: late ? "visible" : "hidden" }} />
      ))}
    </span>
  );
}

export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  const refusal = error instanceof Refusal ? error : null;
  return (
    <div className={styles.failed} role="alert">
      <Glyph of="warning" size={14} />
      <div>
        <strong>{refusal ? refusal.detail : "This panel could not be shown."}</strong>
        {refusal?.requestId && <code>request {refusal.requestId}</code>}
      </div>
      {again && (
        <Button small onPress={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Keeps an error of a panel in that panel. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (this.state.error === null) return this.props.children;
    return <Failed error={this.state.error} again={() => this.setState({ error: null })} />;
  }
}
