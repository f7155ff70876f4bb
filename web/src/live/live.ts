import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { read } from "../wire/frame";
import { Link, type LinkState } from "./link";
import { Store, type TopicName, type Topics, type View } from "./store";

/** The console's one connection and its rows, and how pages read them. */

const stateListeners = new Set<() => void>();
let onDoubt = () => {};

const store = new Store({
  subscribe: (topic, filter, id) => link.send("subscribe", { topic, filter }, id),
  more: (topic, part) => link.send("more", { topic, part }),
  unsubscribe: (topic) => link.send("unsubscribe", { topic }),
});

const link = new Link({
  onMessage(message) {
    if (message.type === "snapshot") store.snapshot(read(message, "snapshot"));
    if (message.type === "delta") store.delta(read(message, "delta"));
    if (message.type === "error" && message.replyTo) store.refused(message.replyTo, read(message, "error"));
  },
  onWelcome: () => store.resubscribe(),
  onState() {
    for (const listener of stateListeners) listener();
  },
  onDoubt: () => onDoubt(),
});

/** Connects; doubt is called when the server may not know this session any more. */
export function openLive(doubt: () => void): void {
  onDoubt = doubt;
  link.open();
}

export function closeLive(): void {
  link.close();
  store.clear();
}

export const tryNow = () => link.tryNow();

function watchState(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

export function useLink(): LinkState {
  return useSyncExternalStore(watchState, () => link.current());
}

/** A topic's rows for as long as the component stands. */
export function useTopic<N extends TopicName>(name: N): View<Topics[N]> {
  const watch = useCallback((listener: () => void) => store.watch(name, listener), [name]);
  return useSyncExternalStore(watch, () => store.view(name));
}

/** The page shows what was true some time ago: actions are off. */
export function useStale(): boolean {
  const { live, heardAt } = useLink();
  return !live && heardAt > 0;
}

/**
 * The moment that ages are counted to, in steps. It stands still while nothing is
 * heard: then the values are as old as the last word.
 */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now);
  const { live, heardAt } = useLink();
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return !live && heardAt > 0 ? heardAt : now;
}
