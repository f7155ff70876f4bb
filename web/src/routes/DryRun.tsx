import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Impact, PoolImpact } from "../api/documents";
import { count, moment, plural, shortId } from "../format";
import { CapacityBar } from "../ui/bars";
import { Button } from "../ui/controls";
import { Check } from "../ui/fields";
import { Glyph } from "../ui/Glyph";
import { Failed, Gray } from "../ui/Panel";
import styles from "./dryrun.module.css";
import { appOf, exhausted, impactGlyph, impactWords, warning } from "./impact";

/** Consequence before consent: what a change would do, as the server tried it. */

export interface WouldDoProps {
  /** The dry run; the button that confirms is off while it is fetching. */
  run: Pick<UseQueryResult<{ impact?: Impact }>, "data" | "error" | "isFetching" | "refetch">;
  /** The pool whose numbers are compared. */
  pool: string;
  /** What becomes of the work that runs there. */
  work: (running: number) => ReactNode;
  children?: ReactNode;
}

export function WouldDo({ run, pool, work, children }: WouldDoProps) {
  const impact = run.data?.impact;
  return (
    <section className={styles.would} aria-busy={run.isFetching}>
      <header>
        <h3>What this would do</h3>
        <span>{run.isFetching ? "trying" : impact && `dry run at ${moment(impact.at)}`}</span>
        <Button tone="link" onPress={() => void run.refetch()} isDisabled={run.isFetching}>
          Run again
        </Button>
      </header>
      {run.error ? (
        <Failed error={run.error} again={() => void run.refetch()} />
      ) : impact ? (
        <Consequences impact={impact} pool={pool} work={work} />
      ) : (
        <Gray lines={5} wide={360} />
      )}
      {children}
    </section>
  );
}

function Consequences({ impact, pool, work }: { impact: Impact; pool: string; work: WouldDoProps["work"] }) {
  const own = impact.pools.find((p) => p.pool === pool);
  const apps = exhausted(impact);
  return (
    <>
      <dl className={styles.numbers}>
        <Change label="Usable nodes" before={own?.before.usable} after={own?.after.usable} />
        <Change label="Free slots" before={own?.before.free} after={own?.after.free} />
        <Change label="Apps exhausted" before={apps.before} after={apps.after} />
      </dl>
      {own ? <Bars of={own} /> : <p className={styles.quiet}>The slots of {pool} stay as they are.</p>}
      {impact.pools
        .filter((p) => p.pool !== pool && (p.before.usable !== p.after.usable || p.before.free !== p.after.free))
        .map((p) => (
          <p key={p.pool} className={styles.quiet}>
            {p.pool}: {count(p.before.usable)} → {plural(p.after.usable, "usable node")}, {count(p.before.free)} → {plural(p.after.free, "free slot")}.
          </p>
        ))}
      <Apps impact={impact} />
      <Work impact={impact} work={work} />
    </>
  );
}

function Change({ label, before, after }: { label: string; before: number | undefined; after: number | undefined }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{before === undefined || after === undefined ? "as now" : <Arrow before={before} after={after} />}</dd>
    </div>
  );
}

const Arrow = ({ before, after }: { before: number; after: number }) => (
  <>
    {count(before)} <span aria-hidden="true">→</span>
    <span className="visually-hidden"> becomes </span> <b>{count(after)}</b>
  </>
);

/** Slots now and then, on one scale. */
function Bars({ of }: { of: PoolImpact }) {
  const whole = Math.max(of.before.slots, of.after.slots, 1);
  const bar = (shape: PoolImpact["before"]) => ({ used: shape.slots - shape.free - shape.outOfUse, out: shape.outOfUse, total: shape.slots });
  return (
    <div className={styles.bars}>
      {(["before", "after"] as const).map((when) => (
        <div key={when}>
          <span>{when === "before" ? "now" : "after"}</span>
          <span style={{ width: `${(of[when].slots / whole) * 100}%` }}>
            <CapacityBar {...bar(of[when])} />
          </span>
          <span data-figures>{plural(of[when].slots, "slot")}</span>
        </div>
      ))}
    </div>
  );
}

const most = 12;

function Apps({ impact }: { impact: Impact }) {
  if (impact.apps.length === 0) return <p className={styles.quiet}>No app's work loses or gains a node.</p>;
  return (
    <div>
      <h4>Apps, nodes that can take their work</h4>
      <ul className={styles.list}>
        {impact.apps.slice(0, most).map((a) => (
          <li key={appOf(a)}>
            <Glyph of={impactGlyph(a)} />
            <b>{appOf(a)}</b>
            <span>{impactWords(a)}</span>
            <span data-figures>
              <Arrow before={a.before} after={a.after} />
            </span>
          </li>
        ))}
      </ul>
      {impact.apps.length > most && <p className={styles.quiet}>and {plural(impact.apps.length - most, "app")} that fare better</p>}
    </div>
  );
}

function Work({ impact, work }: { impact: Impact; work: WouldDoProps["work"] }) {
  const n = impact.running.length;
  return (
    <div>
      <h4>Work there</h4>
      <ul className={styles.list}>
        <li>
          <span />
          <b>{n === 0 ? "Nothing runs" : plural(n, "job")}</b>
          <span>
            {n === 0 ? "there now" : work(n)}
            {n > 0 && n <= 5 && (
              <span className={styles.ids}>
                {impact.running.map((b) => (
                  <Link key={`${b.job} ${b.attempt}`} to="/jobs/$id" params={{ id: b.job }} className="mono" title={b.job}>
                    {shortId(b.job)}
                  </Link>
                ))}
              </span>
            )}
          </span>
        </li>
        {impact.placements > 0 && (
          <li>
            <span />
            <b>{plural(impact.placements, "placement")}</b>
            <span>{impact.placements === 1 ? "stays until it expires" : "stay until they expire"}</span>
          </li>
        )}
        {impact.waiting > 0 && (
          <li>
            <Glyph of="queued" />
            <b>{plural(impact.waiting, "job")}</b>
            <span>would wait without a node to hope for</span>
          </li>
        )}
      </ul>
    </div>
  );
}

/** The box of the foot: it has to be checked while an app would lose its last node. */
export function Consent({ impact, agreed, onAgree }: { impact: Impact | undefined; agreed: boolean; onAgree(agreed: boolean): void }) {
  const said = impact && warning(impact);
  if (!said) return null;
  return (
    <div className={styles.consent}>
      <Check checked={agreed} onChange={onAgree}>
        <b>{said.who}</b> {said.rest}
      </Check>
    </div>
  );
}
