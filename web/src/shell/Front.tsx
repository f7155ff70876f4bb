import type { ReactNode } from "react";
import { Mark } from "../ui/Icon";
import styles from "./front.module.css";

/** The plain page of those who are not signed in. */
export function Front({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className={styles.front}>
      <div className={styles.brand}>
        <Mark /> Rockpool
      </div>
      <section className={styles.card}>
        <h1>{title}</h1>
        {children}
      </section>
    </main>
  );
}
