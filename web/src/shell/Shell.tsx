import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { age, count } from "../format";
import { useLink, useTopic } from "../live/live";
import { isSilent } from "../routes/alarm";
import { rolesOf, useSession } from "../session";
import { nextTheme, setTheme, useTheme } from "../theme";
import { Glyph } from "../ui/Glyph";
import { Icon, Mark } from "../ui/Icon";
import { openPalette, signOutNow, themeNames } from "./actions";
import { Frozen } from "./Frozen";
import { useKeys } from "./keys";
import { placesFor } from "./places";
import styles from "./shell.module.css";

const Palette = lazy(() => import("./Palette").then((m) => ({ default: m.Palette })));
const More = lazy(() => import("./More").then((m) => ({ default: m.More })));

/** The frame of all pages behind the sign-in: sidebar on a desk, bottom bar on a phone. */
export function Shell() {
  const session = useSession();
  const navigate = useNavigate();
  const [palette, setPalette] = useState(false);
  const [more, setMore] = useState(false);
  useKeys(
    placesFor(session).flatMap((g) => g.places),
    { search: () => setPalette(true), go: (to) => navigate({ to }) },
  );
  useEffect(() => {
    const open = () => setPalette(true);
    addEventListener(openPalette, open);
    return () => removeEventListener(openPalette, open);
  }, []);
  // Signed out elsewhere, or the session was ended: this page can't be live again.
  useEffect(() => {
    if (!session) navigate({ to: "/sign-in" });
  }, [session, navigate]);
  if (!session) return null;
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        Skip to the page
      </a>
      <Sidebar onSearch={() => setPalette(true)} />
      <main id="main" className={styles.main} tabIndex={-1}>
        <Frozen />
        <Outlet />
      </main>
      <BottomBar onMore={() => setMore(true)} />
      <Suspense>
        {palette && <Palette onClose={() => setPalette(false)} />}
        {more && <More onClose={() => setMore(false)} />}
      </Suspense>
    </div>
  );
}

function Sidebar({ onSearch }: { onSearch(): void }) {
  const session = useSession();
  const path = useLocation().pathname;
  const fleet = useTopic("fleet").rows[0];
  const counts: Record<string, number | undefined> = {
    "/nodes": fleet && fleet.nodes.ready + fleet.nodes.suspect + fleet.nodes.lost + fleet.nodes.new + fleet.nodes.left,
    "/jobs": fleet && fleet.queued + fleet.running,
    "/placements": fleet?.placements,
    "/alarms": useAlarms(),
  };
  return (
    <nav className={styles.sidebar} data-off={!useLink().live || undefined} aria-label="Pages">
      <div className={styles.brand}>
        <Mark /> Rockpool
        {session?.fleet && <small title="The fleet's name">{session.fleet}</small>}
      </div>
      <button type="button" className={styles.search} onClick={onSearch}>
        <Icon name="search" />
        <span>Search or run</span>
        <kbd>Ctrl K</kbd>
      </button>
      {placesFor(session).map((group) => (
        <ul key={group.name} aria-label={group.name || undefined}>
          {group.name && (
            <li className={styles.group} aria-hidden="true">
              {group.name}
            </li>
          )}
          {group.places.map((p) => (
            <li key={p.to}>
              <Link to={p.to} className={styles.place ?? ""} {...within(p.to, path)}>
                <Icon name={p.icon} />
                <span>{p.text}</span>
                {counts[p.to] !== undefined && <small>{count(counts[p.to] ?? 0)}</small>}
              </Link>
            </li>
          ))}
        </ul>
      ))}
      <div className={styles.end}>
        <Pulse />
        <div className={styles.user}>
          <span className={styles.initial} aria-hidden="true">
            {session?.user.name.slice(0, 1).toUpperCase()}
          </span>
          <span className={styles.name}>
            <strong>{session?.user.name}</strong>
            <small>{session && rolesOf(session)[0]}</small>
          </span>
          <ThemeButton />
          <button type="button" className={styles.theme} aria-label="Sign out" title="Sign out" onClick={signOutNow}>
            <Icon name="leave" />
          </button>
        </div>
      </div>
    </nav>
  );
}

/** How many alarms last that are not silenced. */
function useAlarms(): number {
  return useTopic("alarms").rows.filter((a) => !isSilent(a)).length;
}

function ThemeButton() {
  const theme = useTheme();
  const label = `Theme: ${themeNames[theme]}`;
  return (
    <button type="button" className={styles.theme} aria-label={label} title={label} onClick={() => setTheme(nextTheme[theme])}>
      <Icon name="sun" />
    </button>
  );
}

/** How old what is shown is. */
export function Pulse({ short }: { short?: boolean }) {
  const { live, heardAt } = useLink();
  const now = useTick();
  if (heardAt === 0) return <span className={styles.pulse}>Connecting</span>;
  if (!live) {
    return (
      <span className={styles.pulse}>
        <Glyph of="warning" size={10} /> Stale, {age(now - heardAt)}
      </span>
    );
  }
  return (
    <span className={styles.pulse}>
      <i className={styles.dot} aria-hidden="true" /> Live{!short && `, ${((now - heardAt) / 1000).toFixed(1)} s ago`}
    </span>
  );
}

/** The clock itself, unlike useNow: it goes on while nothing is heard. */
export function useTick(every = 1000): number {
  const [now, setNow] = useState(Date.now);
  const { heardAt } = useLink();
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return Math.max(now, heardAt);
}

/** A place is current on its own pages too; those of pools belong to the fleet. */
function within(to: string, path: string) {
  const current = to === "/" && path.startsWith("/pools/");
  return { activeOptions: { exact: to === "/", includeSearch: false }, ...(current && { "aria-current": "true" as const }) };
}

function BottomBar({ onMore }: { onMore(): void }) {
  const path = useLocation().pathname;
  const session = useSession();
  const alarms = useAlarms();
  const places = placesFor(session)[0]?.places.filter((p) => !p.more) ?? [];
  return (
    <nav className={styles.bottom} aria-label="Pages, bottom" style={{ gridTemplateColumns: `repeat(${places.length + 1}, 1fr)` }}>
      {places.map((p) => (
        <Link key={p.to} to={p.to} {...within(p.to, path)}>
          <Icon name={p.icon} size={20} />
          {p.text}
          {p.to === "/alarms" && alarms > 0 && <small className={styles.badge}>{count(alarms)}</small>}
        </Link>
      ))}
      <button type="button" onClick={onMore}>
        <Icon name="more" size={20} />
        More
      </button>
    </nav>
  );
}
