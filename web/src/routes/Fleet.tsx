import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { count, fine, moment, plural } from "../format";
import { useLink, useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, useSession } from "../session";
import { Page } from "../shell/Page";
import { Button, Segmented } from "../ui/controls";
import { QuickFilter } from "../ui/fields";
import { Empty, Figure, Gray, Panel, Strip } from "../ui/Panel";
import type { FleetRow, PoolRow } from "../wire/messages";
import { AlarmList } from "./AlarmLine";
import { Aligned } from "./Aligned";
import { byUrgency, isSilent, worstOf } from "./alarm";
import styles from "./fleet.module.css";
import { PoolCard } from "./PoolCard";
import { PoolTable } from "./PoolTable";
import { byPlace, ready, sum } from "./pool";

const Enroll = lazy(() => import("./Enroll").then((m) => ({ default: m.Enroll })));
const CreatePool = lazy(() => import("./CreatePool").then((m) => ({ default: m.CreatePool })));
const More = lazy(() => import("./FleetMore").then((m) => ({ default: m.FleetMore })));
const NewNode = lazy(() => import("./NewNode").then((m) => ({ default: m.NewNodeSheet })));
const AddNode = lazy(() => import("./Enroll").then((m) => ({ default: m.AddNode })));

/** How much there is and where: totals, then every pool. */
export function Fleet() {
  const search = useSearch({ from: "/inside/" });
  const navigate = useNavigate();
  const session = useSession();
  const stale = useStale();
  const { heardAt } = useLink();
  const { q, view, add, create, ...none } = search;
  const fleet = useTopic("fleet").rows[0];
  const pools = useTopic("pools");
  const all = pools.rows.toSorted(byPlace);
  const words = q?.toLowerCase() ?? "";
  const shown = all.filter((p) => `${p.id} ${p.name} ${p.kind}`.toLowerCase().includes(words));
  const nodes = fleet && sum(fleet.nodes);
  const go = (next: typeof search) => void navigate({ to: "/", search: next, replace: true });
  const close = () => go({ ...none, ...(q && { q }), ...(view && { view }) });
  const first = nodes === 0 && isSuperadmin(session);
  const [byHand, setByHand] = useState(false);
  const own = pools.byId.get(`pool-${session?.user.id}`);
  const away = stale ? "No word from the server" : undefined;
  return (
    <Page
      title="Fleet"
      note={
        fleet &&
        pools.phase === "ready" && (
          <span>{`${plural(all.length, "pool")}, ${nodes ? plural(nodes, "node") : "no nodes"}${stale ? `, as of ${moment(heardAt)}` : ""}`}</span>
        )
      }
      actions={
        <>
          {!first && <Legend />}
          {!first && <QuickFilter label="Filter pools" value={q ?? ""} onChange={(next) => go({ ...none, ...(view && { view }), ...(next && { q: next }) })} />}
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
          {first && (
            <Button onPress={() => setByHand(true)} why={away}>
              Create a node by hand
            </Button>
          )}
          {isSuperadmin(session) && !first && (
            <Button tone="primary" icon="plus" onPress={() => go({ ...search, add: true })} why={away}>
              Add node
            </Button>
          )}
          {isSuperadmin(session) && (
            <span className={styles.deskOnly}>
              <Suspense fallback={<i className={styles.menu} />}>
                <More onCreate={() => go({ ...search, create: true })} />
              </Suspense>
            </span>
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
          <Wrong />
          <Totals fleet={fleet} />
          <Pools phase={pools.phase} shown={shown} words={words} table={view === "table"} />
          {isSuperadmin(session) && pools.phase === "ready" && <Aligned pools={all} />}
        </>
      )}
      <Suspense>
        {add && !first && <AddNode onClose={close} />}
        {create && <CreatePool onClose={close} />}
        {byHand && own && <NewNode pool={own} onClose={() => setByHand(false)} />}
      </Suspense>
    </Page>
  );
}

function Pools({ phase, shown, words, table }: { phase: string; shown: Live<PoolRow>[]; words: string; table: boolean }) {
  const alarms = useTopic("alarms").rows;
  const worst = useMemo(() => worstOf(alarms), [alarms]);
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
    <PoolTable pools={shown} alarms={worst} />
  ) : (
    <ul className={styles.cards}>
      {shown.map((p) => (
        <PoolCard key={p.id} pool={p} alarm={worst.get(p.id)} />
      ))}
    </ul>
  );
}

/** So many alarms stand on top; a phone has room for the worst. */
const most = 5;

/** What is wrong, the worst first; without an alarm everything moves up. */
function Wrong() {
  const rows = useTopic("alarms").rows;
  const alarms = rows.filter((a) => !isSilent(a)).toSorted(byUrgency);
  if (alarms.length === 0) return null;
  return (
    <>
      <div className={styles.deskOnly}>
        <Panel label="Alarms" flush>
          <AlarmList alarms={alarms.slice(0, most)} />
          {alarms.length > most && (
            <Link to="/alarms" className={styles.rest ?? ""} data-link>
              and {plural(alarms.length - most, "more alarm")}
            </Link>
          )}
        </Panel>
      </div>
      <div className={styles.phoneOnly}>
        <AlarmList alarms={alarms.slice(0, 1)} tinted brief />
      </div>
    </>
  );
}

function Totals({ fleet }: { fleet: FleetRow | undefined }) {
  const waits = fleet && fleet.placed > 0;
  return (
    <div className={styles.totals}>
      <Strip>
        <Figure label="Nodes ready" short="Ready" value={fleet && count(ready(fleet.nodes))} note={fleet && `of ${count(sum(fleet.nodes))}`} />
        <Figure label="Free slots" short="Free" value={fleet && count(fleet.slots_free)} note={fleet && `of ${count(fleet.slots_total)}`} />
        <Figure label="Running" value={fleet && count(fleet.running)} />
        <Figure
          label="Queued"
          value={fleet && count(fleet.queued)}
          note={fleet && fleet.overdue > 0 ? `${count(fleet.overdue)} past a threshold` : undefined}
        />
        <Figure
          label="Wait, p95, 5 min"
          value={fleet && (waits ? fine(fleet.wait_p95_ms) : "—")}
          note={fleet && (waits ? `p50 ${fine(fleet.wait_p50_ms)}` : "nothing placed")}
        />
      </Strip>
    </div>
  );
}

function Legend() {
  return (
    <span className={styles.legend} aria-hidden="true">
      <i className={styles.used} /> used <i className={styles.out} /> out of use <i className={styles.none} /> free
    </span>
  );
}
