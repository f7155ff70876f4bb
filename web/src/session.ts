import { useSyncExternalStore } from "react";
import { getSession, signOut } from "./api/calls";
import { Refusal } from "./api/client";
import type { Session } from "./api/documents";
import { closeLive, openLive } from "./live/live";

/** Who is signed in in this browser. The connection lives as long as that. */

let session: Session | null = null;
const listeners = new Set<() => void>();
/** What else must be forgotten with a session: caches. */
const forgets = new Set<() => void>();

function change(next: Session | null) {
  session = next;
  for (const listener of listeners) listener();
}

export function useSession(): Session | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );
}

/** The session of this browser's cookie, or null. Other failures are thrown. */
export async function loadSession(): Promise<Session | null> {
  if (session) return session;
  try {
    entered(await getSession());
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
  }
  return session;
}

/** Begins the session that a sign-in made. */
export function entered(next: Session): void {
  change(next);
  openLive(doubt);
}

export async function leave(): Promise<void> {
  try {
    await signOut();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
  }
  gone();
}

export function onForget(forget: () => void): void {
  forgets.add(forget);
}

function gone() {
  closeLive();
  for (const forget of forgets) forget();
  change(null);
}

/** The connection ended: perhaps because the session did. */
async function doubt() {
  try {
    await getSession();
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) gone();
  }
}

/** For the whole fleet or for a pool; what somebody does not see here, they have no role for. */
const may = (role: string) => (s: Session | null) => (s?.roles.includes(role) ?? false) || (s?.user.grants.some((g) => g.role === role) ?? false);
export const isSuperadmin = may("superadmin");
/** Who may hold nodes: operators and superadmins. */
export const maySteer = (s: Session | null) => isSuperadmin(s) || may("operator")(s);
/** Who sees nodes and alarms that are not their own. */
export const mayWatch = (s: Session | null) => maySteer(s) || may("viewer")(s);
/** One's roles in words: superadmin, operator of pool-7. */
export const rolesOf = (s: Session) => [...s.roles, ...s.user.grants.map((g) => `${g.role} of ${g.pool}`)];
