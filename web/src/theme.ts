import { useSyncExternalStore } from "react";

/** Light, dark or as the machine is; kept in this browser. */
export type Theme = "auto" | "light" | "dark";

const key = "rockpool.theme";
const listeners = new Set<() => void>();

function stored(): Theme {
  const value = localStorage.getItem(key);
  return value === "light" || value === "dark" ? value : "auto";
}

export function applyTheme(): void {
  const theme = stored();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  if (theme === "auto") localStorage.removeItem(key);
  else localStorage.setItem(key, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, stored);
}

export const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
