import { useSyncExternalStore } from "react";
import styles from "./toasts.module.css";

/** Short words on what an action did, told to screen readers too. */

interface Toast {
  id: number;
  text: string;
}

let toasts: Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

export function toast(text: string): void {
  const id = nextId++;
  change([...toasts.slice(-2), { id, text }]);
  setTimeout(() => change(toasts.filter((t) => t.id !== id)), 5000);
}

function watch(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const list = useSyncExternalStore(watch, () => toasts);
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {list.map((t) => (
        <div key={t.id}>{t.text}</div>
      ))}
    </div>
  );
}
