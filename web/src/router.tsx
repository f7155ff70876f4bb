import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { loadSession } from "./session";
import { RootFailure, RootFrame, Unknown } from "./shell/Root";
import { Shell } from "./shell/Shell";

/** The pages and their addresses. What can be shared by a link stands in it: filters, sort and view. */

const root = createRootRoute({ component: RootFrame, errorComponent: RootFailure, notFoundComponent: Unknown });

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("./routes/Setup"), "Setup"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (s: Record<string, unknown>): { to?: string } => (typeof s.to === "string" ? { to: s.to } : {}),
  component: lazyRouteComponent(() => import("./routes/SignIn"), "SignIn"),
});

/** Everything that needs a session. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ location }) => {
    if (!(await loadSession())) {
      throw redirect({ to: "/sign-in", search: location.href === "/" ? {} : { to: location.href } });
    }
  },
  component: Shell,
});

/** A text parameter of the address, or nothing. */
function text<K extends string>(s: Record<string, unknown>, key: K): { [P in K]?: string } {
  const value = typeof s[key] === "number" ? String(s[key]) : s[key]; // a bare number of the address is read as one
  return typeof value === "string" && value !== "" ? ({ [key]: value } as { [P in K]?: string }) : {};
}

const fleet = createRoute({
  getParentRoute: () => inside,
  path: "/",
  validateSearch: (s: Record<string, unknown>): { q?: string; view?: "table"; add?: boolean; create?: boolean } => ({
    ...text(s, "q"),
    ...(s.view === "table" ? { view: "table" as const } : {}),
    ...(s.add ? { add: true } : {}),
    ...(s.create ? { create: true } : {}),
  }),
  component: lazyRouteComponent(() => import("./routes/Fleet"), "Fleet"),
});

const nodes = createRoute({
  getParentRoute: () => inside,
  path: "/nodes",
  validateSearch: (s: Record<string, unknown>): { q?: string; sort?: string } => ({
    ...text(s, "q"),
    ...text(s, "sort"),
  }),
  component: lazyRouteComponent(() => import("./routes/Nodes"), "Nodes"),
});

const node = createRoute({
  getParentRoute: () => inside,
  path: "/nodes/$id",
  component: lazyRouteComponent(() => import("./routes/Node"), "Node"),
});

const jobs = createRoute({
  getParentRoute: () => inside,
  path: "/jobs",
  validateSearch: (s: Record<string, unknown>): { q?: string } => text(s, "q"),
  component: lazyRouteComponent(() => import("./routes/Jobs"), "Jobs"),
});

const job = createRoute({
  getParentRoute: () => inside,
  path: "/jobs/$id",
  component: lazyRouteComponent(() => import("./routes/Job"), "Job"),
});

const placements = createRoute({
  getParentRoute: () => inside,
  path: "/placements",
  validateSearch: (s: Record<string, unknown>): { q?: string; id?: string } => ({ ...text(s, "q"), ...text(s, "id") }),
  component: lazyRouteComponent(() => import("./routes/Placements"), "Placements"),
});

const pool = createRoute({
  getParentRoute: () => inside,
  path: "/pools/$id",
  component: lazyRouteComponent(() => import("./routes/Pool"), "Pool"),
});

const alarms = createRoute({
  getParentRoute: () => inside,
  path: "/alarms",
  validateSearch: (s: Record<string, unknown>): { id?: string; view?: "past" } => ({
    ...text(s, "id"),
    ...(s.view === "past" ? { view: "past" as const } : {}),
  }),
  component: lazyRouteComponent(() => import("./routes/Alarms"), "Alarms"),
});

const apps = createRoute({
  getParentRoute: () => inside,
  path: "/apps",
  validateSearch: (s: Record<string, unknown>): { q?: string; app?: string } => ({ ...text(s, "q"), ...text(s, "app") }),
  component: lazyRouteComponent(() => import("./routes/Apps"), "Apps"),
});

const users = createRoute({
  getParentRoute: () => inside,
  path: "/users",
  validateSearch: (s: Record<string, unknown>): { id?: string } => text(s, "id"),
  component: lazyRouteComponent(() => import("./routes/Users"), "Users"),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  validateSearch: (s: Record<string, unknown>): { q?: string; seq?: string } => ({ ...text(s, "q"), ...text(s, "seq") }),
  component: lazyRouteComponent(() => import("./routes/Audit"), "Audit"),
});

export const router = createRouter({
  routeTree: root.addChildren([setup, signIn, inside.addChildren([fleet, pool, nodes, node, jobs, job, placements, alarms, apps, users, audit])]),
  defaultPreload: "intent",
  defaultErrorComponent: RootFailure,
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
