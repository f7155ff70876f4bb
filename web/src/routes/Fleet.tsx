import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { count, plural } from "../format";
import { useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, useSession } from "../session";
import { Page } from "../shell/Page";
import { CapacityBar, Segments, Spark } from "../ui/bars";
import { Button, Segmented } from "../ui/controls";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { Empty, Figure, Gray, Panel, Strip } from "../ui/Panel";
import type { FleetRow, PoolRow } from "../wire/messages";
import styles from "./fleet.module.css";
import { kindWords, ready, states, sum } from "./pool";

const Enroll = lazy(() => import("./Enroll").then((m) => ({ default: m.Enroll })));
const AddNode = lazy(() => import("./Enroll").then((m) => ({ default: m.AddNode })));

/** How much there is and where: totals, then every pool. */
export function Fleet() {
  const search = useSearch({ from: "/inside/" });
  const navigate = useNavigate();
  const session = useSession();
  const stale = useStale();
  const { q, view, add, ...none } = search;
  const fleet = useTopic("fleet").rows[0];
  const pools = useTopic("pools");
  const all = pools.rows.toSorted(byPlace);
  const words = q?.toLowerCase() ?? "";
  const shown = all.filter((p) => `${p.id} ${p.name} ${p.kind}`.toLowerCase().includes(words));
  const nodes = fleet && sum(fleet.nodes);
  const go = (next: typeof search) => void navigate({ to: "/", search: next, replace: true });
  const first = nodes === 0 && isSuperadmin(session);
  return (
    <Page
      title="Fleet"
      note={fleet && pools.phase === "ready" && <span>{`${plural(all.length, "pool")}, ${plural(nodes ?? 0, "node")}`}</span>}
      actions={
        <>
          {!first && <Legend />}
          {!first && <PoolFilter value={q ?? ""} onChange={(next) => go({ ...none, ...(view && { view }), ...(next && { q: next }) })} />}
          {!first && (
            <span className={styles.deskOnly}>
              <Segmented
                label="View"
                value={view ?? "cards"}
                options={[
                  ["cards", "Cards"],
                  ["table", "Table"],
                ]}
                onChange={(next) => go({ ...none, ...(q && { q }), ...(next === "table" && { view: next }) })}
              />
            </span>
          )}
          {isSuperadmin(session) && !first && (
            <Button tone="primary" icon="plus" onPress={() => go({ ...search, add: true })} why={stale ? "No word from the server" : undefined}>
              Add node
            </Button>
          )}
        </>
      }
    >
      {first ? (
        <Suspense>
          <Enroll pools={all} />
        </Suspense>
      ) : (
        <>
          <Totals fleet={fleet} />
          <Pools phase={pools.phase} shown={shown} words={words} table={view === "table"} />
        </>
      )}
      <Suspense>{add && !first && <AddNode onClose={() => go({ ...none, ...(q && { q }), ...(view && { view }) })} />}</Suspense>
    </Page>
  );
}

function Pools({ phase, shown, words, table }: { phase: string; shown: Live<PoolRow>[]; words: string; table: boolean }) {
  if (phase === "loading") {
    return (
      <Panel label="Pools">
        <Gray lines={4} wide={320} />
      </Panel>
    );
  }
  if (shown.length === 0) {
    return (
      <Panel label="Pools" flush>
        <Empty title={words ? `No pool matches “${words}”` : "No pool that you may see"}>
          {words ? "Change the filter at the top." : "A superadmin can give you pools."}
        </Empty>
      </Panel>
    );
  }
  return table ? (
    <PoolTable pools={shown} />
  ) : (
    <ul className={styles.cards}>
      {shown.map((p) => (
        <Card key={p.id} pool={p} />
      ))}
    </ul>
  );
}

/** default first, unassigned last, the rest by name: cards never jump. */
function byPlace(a: PoolRow, b: PoolRow): number {
  const place = (p: PoolRow) => (p.kind === "default" ? 0 : p.kind === "unassigned" ? 2 : 1);
  return place(a) - place(b) || a.id.localeCompare(b.id, "en", { numeric: true });
}

function Totals({ fleet }: { fleet: FleetRow | undefined }) {
  return (
    <div className={styles.totals}>
      <Strip>
        <Figure label="Nodes ready" short="Ready" value={fleet && count(ready(fleet.nodes))} note={fleet && `of ${count(sum(fleet.nodes))}`} />
        <Figure label="Free slots" short="Free" value={fleet && count(fleet.slots_free)} note={fleet && `of ${count(fleet.slots_total)}`} />
        <Figure label="Running" value={fleet && count(fleet.running)} />
        <Figure label="Queued" value={fleet && count(fleet.queued)} />
      </Strip>
    </div>
  );
}

function Card({ pool }: { pool: Live<PoolRow> }) {
  const used = pool.slots_total - pool.slots_free - pool.slots_out_of_use;
  const aside = pool.kind === "unassigned";
  return (
    <li className={`${styles.card} ${aside ? styles.aside : ""}`} data-pool={pool.id}>
      <div className={styles.top}>
        <h2>
          <Link to="/pools/$id" params={{ id: pool.id }} className={styles.whole ?? ""}>
            {pool.id}
          </Link>
        </h2>
        <span className={styles.quiet}>{kindWords(pool)}</span>
        {pool.canary && <Badge mark="C" text="canary" />}
        {pool.state !== "active" && <Badge text={pool.state} />}
      </div>
      <div className={styles.free}>
        <strong>{count(pool.slots_free)}</strong> free
        <span>{aside && pool.slots_out_of_use > 0 ? `${plural(pool.slots_out_of_use, "slot")} out of use` : `of ${plural(pool.slots_total, "slot")}`}</span>
      </div>
      <CapacityBar used={used} out={pool.slots_out_of_use} total={pool.slots_total} />
      <div className={styles.segments}>
        <Segments parts={states(pool.nodes)} />
      </div>
      <Counts pool={pool} />
      <div className={styles.foot}>
        {aside ? (
          <p>Still connected; nothing resolves here.</p>
        ) : (
          <>
            <dl>
              <dt>Running</dt>
              <dd>{count(pool.running)}</dd>
            </dl>
            <dl>
              <dt>Queued</dt>
              <dd>{count(pool.queued)}</dd>
            </dl>
            <div className={styles.spark}>
              <span>Free, 10 min</span>
              <Spark values={pool.spark} label={sparkWords(pool)} />
            </div>
          </>
        )}
      </div>
    </li>
  );
}

function sparkWords(pool: PoolRow): string {
  if (pool.spark.length === 0) return "Free slots: no history yet";
  return `Free slots in the last 10 minutes: ${Math.min(...pool.spark)} to ${Math.max(...pool.spark)}, now ${pool.slots_free}`;
}

/** With four states and more only ready keeps its word. */
function Counts({ pool }: { pool: PoolRow }) {
  const list = states(pool.nodes);
  const total = sum(pool.nodes);
  return (
    <div className={styles.counts}>
      {list.map(({ state, n }) => (
        <Link
          key={state}
          to="/nodes"
          search={{ q: `pool:${pool.id} state:${state === "held" ? "cordoned,draining,quarantined,held" : state}` }}
          title={`${count(n)} ${state}`}
        >
          <Glyph of={state} size={10} /> {count(n)} <span className={list.length >= 4 && state !== "ready" ? "visually-hidden" : styles.quiet}>{state}</span>
        </Link>
      ))}
      <span className={styles.total}>{plural(total, "node")}</span>
      <span className={styles.queued}>
        {pool.kind === "unassigned" ? (
          plural(total, "node")
        ) : pool.queued > 0 ? (
          <>
            <b>{count(pool.queued)}</b> queued
          </>
        ) : (
          "queue empty"
        )}
      </span>
    </div>
  );
}

function Badge({ mark, text }: { mark?: string; text: string }) {
  return (
    <span className={styles.badge}>
      {mark && <b>{mark}</b>} {text}
    </span>
  );
}

function PoolTable({ pools }: { pools: Live<PoolRow>[] }) {
  return (
    <Panel label="Pools" flush>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div className={styles.scroll} tabIndex={0} role="region" aria-label="Pools, table">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Pool</th>
              <th scope="col">Kind</th>
              <th scope="col">Nodes by state</th>
              <th scope="col">Slots</th>
              <th scope="col" data-number>
                Free
              </th>
              <th scope="col" data-number>
                Running
              </th>
              <th scope="col" data-number>
                Queued
              </th>
            </tr>
          </thead>
          <tbody>
            {pools.map((p) => (
              <tr key={p.id} data-pool={p.id}>
                <th scope="row">
                  <Link to="/pools/$id" params={{ id: p.id }}>
                    {p.id}
                  </Link>
                </th>
                <td>{kindWords(p)}</td>
                <td>
                  {states(p.nodes).map(({ state, n }) => (
                    <span key={state} className={styles.inline} title={state}>
                      <Glyph of={state} size={10} label={state} /> {count(n)}
                    </span>
                  ))}
                </td>
                <td>
                  <CapacityBar thin used={p.slots_total - p.slots_free - p.slots_out_of_use} out={p.slots_out_of_use} total={p.slots_total} />
                </td>
                <td data-number>
                  {count(p.slots_free)} of {count(p.slots_total)}
                </td>
                <td data-number>{count(p.running)}</td>
                <td data-number>{count(p.queued)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Legend() {
  return (
    <span className={styles.legend} aria-hidden="true">
      <i className={styles.used} /> used <i className={styles.out} /> out of use <i className={styles.none} /> free
    </span>
  );
}

function PoolFilter({ value, onChange }: { value: string; onChange(value: string): void }) {
  return (
    <label className={styles.filter}>
      <Icon name="filter" />
      <span className="visually-hidden">Filter pools</span>
      <input data-search value={value} placeholder="Filter pools" onChange={(e) => onChange(e.target.value)} />
    </label>
  );
}
