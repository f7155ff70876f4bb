import { useEffect, useRef } from "react";

/** Keys that work on every page: Ctrl K and / search, g and a letter goes to a page. */

const goTo: Record<string, "/" | "/nodes" | "/jobs"> = { f: "/", n: "/nodes", j: "/jobs" };

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useKeys(act: { search(): void; go(to: "/" | "/nodes" | "/jobs"): void }): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    let waiting = 0; // when g was pressed
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "k" && (e.ctrlKey || e.metaKey)) {
        e.preventDefault();
        latest.current.search();
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || document.querySelector("[role=dialog]")) return;
      const to = goTo[e.key];
      if (to && Date.now() - waiting < 1000) latest.current.go(to);
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
