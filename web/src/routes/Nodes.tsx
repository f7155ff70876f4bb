import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { age, count } from "../format";
import { useNow, useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { Page } from "../shell/Page";
import { holdShort, holdText, nodeState, nodeStates, outOfUse } from "../state";
import { FilterBar } from "../table/FilterBar";
import { StateChips } from "../table/StateChips";
import { byText, type Column, Table } from "../table/Table";
import { matchAll, parse, type Read, tightest, without } from "../table/words";
import { CapacityBar } from "../ui/bars";
import { Button } from "../ui/controls";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { NodeRow } from "../wire/messages";
import { NodesBulk } from "./NodesBulk";
import styles from "./nodes.module.css";
import { nodesCsv } from "./nodescsv";
import { saveAs } from "./saveas";

type Row = Live<NodeRow>;

const keys = ["pool:", "state:", "role:", "region:", "backend:", "runner:", "agent:", "owner:", "hold:", "label:"];

const readers: Record<string, (n: Row) => string | readonly string[]> = {
  "": (n) => [n.id, n.address, ...n.labels.map((l) => `${l.n}=${l.v}`)],
  id: (n) => n.id,
  pool: (n) => n.pool,
  state: (n) => nodeState(n),
  lease: (n) => n.lease,
  role: (n) => n.role,
  region: (n) => n.region,
  backend: (n) => n.backend,
  runner: (n) => n.runners,
  agent: (n) => n.agent_version,
  owner: (n) => n.owner,
  hold: (n) => n.holds.map((h) => h.kind),
  label: (n) => n.labels.flatMap((l) => [l.n, `${l.n}=${l.v}`]),
};
const read: Read<Row> = (row, key) => readers[key]?.(row);

/** The age of a row's field, counted on from when the row came. -1: never. */
export const ageOf = (ms: number, received: number, now: number) => (ms < 0 ? -1 : ms + Math.max(0, now - received));

function columns(now: number, canaries: ReadonlySet<string>): Column<Row>[] {
  const seen = (n: Row) => ageOf(n.last_seen_ms, n.received, now);
  const words = (read: (n: Row) => string) => (a: Row, b: Row) => byText(read(a), read(b));
  return [
    { key: "state", head: "State", width: "100px", cell: (n) => <State of={nodeState(n)} />, compare: words(nodeState) },
    {
      key: "id",
      head: "Node",
      width: "minmax(128px, 1.4fr)",
      cell: (n) => (
        <Link to="/nodes/$id" params={{ id: n.id }} className="mono" onClick={(e) => e.stopPropagation()}>
          {n.id}
        </Link>
      ),
      compare: words((n) => n.id),
    },
    { key: "pool", head: "Pool", width: "minmax(88px, 1fr)", cell: (n) => <InPool id={n.pool} canary={canaries.has(n.pool)} />, compare: words((n) => n.pool) },
    { key: "role", head: "Role", width: "60px", cell: (n) => <Quiet>{n.role}</Quiet>, compare: words((n) => n.role) },
    { key: "backend", head: "Backend", width: "60px", cell: (n) => <Quiet>{n.backend}</Quiet>, compare: words((n) => n.backend) },
    { key: "region", head: "Region", width: "84px", cell: (n) => <Quiet>{n.region}</Quiet>, compare: words((n) => n.region) },
    {
      key: "slots",
      head: "Slots",
      width: "124px",
      cell: (n) => (
        <span className={styles.slots} data-figures>
          <CapacityBar thin used={n.slots_used} out={outOfUse(n)} total={n.slots_total} />
          {n.slots_used}/{n.slots_total}
        </span>
      ),
      compare: (a, b) => a.slots_total - a.slots_used - (b.slots_total - b.slots_used),
    },
    {
      key: "seen",
      head: "Seen",
      width: "52px",
      number: true,
      cell: (n) => (seen(n) < 0 ? <Quiet>never</Quiet> : <span className={n.lease === "ready" ? styles.quiet : styles.late}>{age(seen(n))}</span>),
      compare: (a, b) => seen(a) - seen(b),
    },
    { key: "epoch", head: "Epoch", width: "56px", number: true, cell: (n) => <Quiet>{n.epoch}</Quiet>, compare: (a, b) => a.epoch - b.epoch },
    { key: "agent", head: "Agent", width: "76px", cell: (n) => <Quiet>{n.agent_version}</Quiet>, compare: words((n) => n.agent_version) },
    {
      key: "hold",
      head: "Hold",
      width: "minmax(124px, 1fr)",
      cell: (n) => (
        <span className={styles.quiet} title={holds(n, now) || undefined}>
          {n.holds.map((h) => holdShort(h, Math.max(0, now - n.received))).join("; ")}
        </span>
      ),
    },
  ];
}

const InPool = ({ id, canary }: { id: string; canary: boolean }) => (
  <span className={styles.pool}>
    {id}
    {canary && (
      <b title="canary">
        <span aria-hidden="true">C</span>
        <span className="visually-hidden">canary</span>
      </b>
    )}
  </span>
);

const holds = (n: Row, now: number) => n.holds.map((h) => holdText(h, Math.max(0, now - n.received))).join("; ");

const Quiet = ({ children }: { children: React.ReactNode }) => <span className={styles.quiet}>{children}</span>;

/** Every node, live; filter and sort stand in the address. */
export function Nodes() {
  const { q = "", sort = "id" } = useSearch({ from: "/inside/nodes" });
  const navigate = useNavigate({ from: "/nodes" });
  const session = useSession();
  const stale = useStale();
  const now = useNow();
  const { rows, phase } = useTopic("nodes");
  const pools = useTopic("pools").rows;
  const canaries = useMemo(() => new Set(pools.filter((p) => p.canary).map((p) => p.id)), [pools]);
  const words = useMemo(() => parse(q), [q]);
  const shown = useMemo(() => rows.filter((n) => matchAll(words, n, read)), [rows, words]);
  const states = useMemo(() => {
    const others = words.filter((w) => w.key !== "state");
    const counts = new Map<string, number>();
    for (const n of rows) if (matchAll(others, n, read)) counts.set(nodeState(n), (counts.get(nodeState(n)) ?? 0) + 1);
    return nodeStates.map((s): [string, number] => [s, counts.get(s) ?? 0]);
  }, [rows, words]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const setQuery = (next: string) => navigate({ search: ({ q: _, ...s }) => (next ? { ...s, q: next } : s), replace: true });
  return (
    <Page
      title="Nodes"
      fill
      note={
        phase !== "loading" && (
          <span>
            {phase === "partial"
              ? `${count(rows.length)} so far`
              : shown.length === rows.length
                ? count(rows.length)
                : `${count(shown.length)} of ${count(rows.length)}`}
          </span>
        )
      }
      actions={
        <>
          <Button icon="download" onPress={() => saveAs("nodes.csv", nodesCsv(shown), "text/csv")} isDisabled={shown.length === 0}>
            Export
          </Button>
          {isSuperadmin(session) && (
            <Button tone="primary" icon="plus" onPress={() => navigate({ to: "/", search: { add: true } })} why={stale ? "No word from the server" : undefined}>
              Add node
            </Button>
          )}
        </>
      }
    >
      <FilterBar
        label="Filter nodes"
        hint="pool:  state:  region:  or a part of the id"
        query={q}
        onChange={setQuery}
        complete={(begun) => complete(begun, rows)}
      />
      <StateChips counts={states} query={q} onChange={setQuery} note={selected.size > 0 ? "Order frozen while rows are selected" : undefined} />
      {phase === "loading" ? (
        <Panel label="Nodes">
          <Gray lines={6} wide={480} />
        </Panel>
      ) : (
        <Table
          label="Nodes"
          rows={shown}
          columns={columns(now, canaries)}
          sort={sort}
          onSort={(next) => navigate({ search: ({ sort: _, ...s }) => (next === "id" ? s : { ...s, sort: next }), replace: true })}
          onOpen={(n) => navigate({ to: "/nodes/$id", params: { id: n.id } })}
          card={(n) => <Card node={n} now={now} canary={canaries.has(n.pool)} />}
          empty={<None rows={rows} query={q} onChange={setQuery} />}
          selection={maySteer(session) ? { ids: selected, onChange: setSelected } : undefined}
        />
      )}
      <NodesBulk rows={rows.filter((n) => selected.has(n.id))} onClear={() => setSelected(new Set())} />
    </Page>
  );
}

/** Completes a key, or a value of a key from the rows that are there. */
function complete(begun: string, rows: Row[]): string | undefined {
  const minus = begun.startsWith("-") ? "-" : "";
  const text = begun.slice(minus.length).toLowerCase();
  const colon = text.indexOf(":");
  if (colon < 0) {
    const key = keys.find((k) => k.startsWith(text));
    return key && text ? minus + key : undefined;
  }
  const key = text.slice(0, colon);
  const value = text.slice(colon + 1);
  if (value === "") return undefined;
  for (const row of rows) {
    const have = readers[key]?.(row);
    for (const v of typeof have === "string" ? [have] : (have ?? [])) {
      if (v.length > value.length && v.toLowerCase().startsWith(value)) return `${minus}${key}:${v}`;
    }
  }
  return undefined;
}

function None({ rows, query, onChange }: { rows: Row[]; query: string; onChange(query: string): void }) {
  if (rows.length === 0) return <Empty title="No node has joined yet">A license code lets one in: see Fleet.</Empty>;
  const word = tightest(parse(query), rows, read);
  return (
    <Empty title="No node matches">
      {word ? (
        <Button small onPress={() => onChange(without(query, word.text))}>
          Drop {word.text}
        </Button>
      ) : (
        <Button small onPress={() => onChange("")}>
          Drop all words
        </Button>
      )}
    </Empty>
  );
}

function Card({ node, now, canary }: { node: Row; now: number; canary: boolean }) {
  const seen = ageOf(node.last_seen_ms, node.received, now);
  return (
    <Link to="/nodes/$id" params={{ id: node.id }} className={styles.card ?? ""} onClick={(e) => e.stopPropagation()}>
      <span className={styles.line}>
        <Glyph of={nodeState(node)} label={nodeState(node)} />
        <b className="mono">{node.id}</b>
        <span className={styles.in}>
          <InPool id={nodeState(node) === "ready" ? node.pool : `${nodeState(node)}, ${node.pool}`} canary={canary} />
        </span>
        <span className={styles.end}>{seen < 0 ? "never" : age(seen)}</span>
      </span>
      <span className={styles.line}>
        <CapacityBar used={node.slots_used} out={outOfUse(node)} total={node.slots_total} />
        <span className={styles.end}>
          {node.slots_used}/{node.slots_total}
        </span>
      </span>
    </Link>
  );
}
