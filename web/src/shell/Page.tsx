import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { duration, moment } from "../format";
import { tryNow, useLink, useStale } from "../live/live";
import { Button } from "../ui/controls";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { openPalette } from "./actions";
import styles from "./page.module.css";
import { Pulse, useTick } from "./Shell";

export interface PageProps {
  title: string;
  /** Behind the title. */
  note?: ReactNode;
  /** The list that this page is one of. */
  above?: { to: "/" | "/nodes" | "/jobs"; text: string };
  actions?: ReactNode;
  /** In the head of a phone, in the place of the search. */
  menu?: ReactNode;
  /** The actions of a list stand on a phone too. */
  keep?: boolean;
  fill?: boolean;
  children: ReactNode;
}

/** A page: its head, the banner while nothing is heard, and its panels. */
export function Page({ title, note, above, actions, menu, keep, fill, children }: PageProps) {
  const stale = useStale();
  useEffect(() => {
    document.title = `${title} · Rockpool`;
  }, [title]);
  return (
    <div className={`${styles.page} ${fill ? styles.fill : ""}`}>
      <header className={styles.head}>
        {above && (
          <Link to={above.to} className={styles.above ?? ""} aria-label={`Back to ${above.text}`}>
            <span className={styles.desk}>{above.text}</span>
            <span className={styles.desk} aria-hidden="true">
              ›
            </span>
            <span className={styles.phone}>
              <Icon name="back" />
            </span>
          </Link>
        )}
        <h1>{title}</h1>
        {note && <div className={`${styles.note} ${above ? "" : styles.list}`}>{note}</div>}
        <div className={`${styles.actions} ${keep ? styles.keep : above ? "" : styles.list}`}>{actions}</div>
        <div className={styles.phoneSide}>
          <Pulse short />
          {menu ?? (
            <button type="button" className={styles.search} aria-label="Search or run" onClick={() => dispatchEvent(new Event(openPalette))}>
              <Icon name="search" size={20} />
            </button>
          )}
        </div>
      </header>
      {stale && <StaleBanner />}
      <div className={styles.content} data-stale={stale || undefined}>
        {children}
      </div>
    </div>
  );
}

function StaleBanner() {
  const { heardAt, nextTryAt } = useLink();
  const now = useTick();
  return (
    <div className={styles.banner} role="status">
      <Glyph of="warning" size={16} />
      <div>
        <p>
          <strong>No word from the server for {duration(now - heardAt)}.</strong> Everything below is as it was at {moment(heardAt)}. Actions are off.
        </p>
        <p className={styles.small}>Nodes keep their work while the server is away; no lease runs out because of it.</p>
      </div>
      <span className={styles.small}>{nextTryAt > now ? `Next try in ${Math.ceil((nextTryAt - now) / 1000)}s` : "Trying now"}</span>
      <Button small onPress={tryNow}>
        Try now
      </Button>
    </div>
  );
}

/** Two columns on a desk, one on a phone; wide gives the side more room. */
export function Columns({ main, side, wide }: { main: ReactNode; side: ReactNode; wide?: boolean }) {
  return (
    <div className={`${styles.columns} ${wide ? styles.wide : ""}`}>
      <div className={styles.column}>{main}</div>
      <div className={styles.column}>{side}</div>
    </div>
  );
}
