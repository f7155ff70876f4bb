import { useEffect, useRef } from "react";
import type { Place, PlaceEntry } from "./places";

/** Keys that work on every page: Ctrl K and / search, g and a letter goes to a page. */

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useKeys(places: PlaceEntry[], act: { search(): void; go(to: Place): void }): void {
  const latest = useRef({ ...act, places });
  latest.current = { ...act, places };
  useEffect(() => {
    let waiting = 0; // when g was pressed
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "k" && (e.ctrlKey || e.metaKey)) {
        e.preventDefault();
        latest.current.search();
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || document.querySelector("[role=dialog]")) return;
      const place = latest.current.places.find((p) => p.key === e.key);
      if (place && Date.now() - waiting < 1000) latest.current.go(place.to);
      waiting = e.key === "g" ? Date.now() : 0;
      if (e.key === "/") {
        e.preventDefault();
        const field = document.querySelector<HTMLInputElement>("[data-search]");
        if (field) field.focus();
        else latest.current.search();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
