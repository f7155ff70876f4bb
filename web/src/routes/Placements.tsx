import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { age, count, duration, shortId } from "../format";
import { useNow, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { Page } from "../shell/Page";
import { FilterBar } from "../table/FilterBar";
import { StateChips } from "../table/StateChips";
import { byText, type Column, Table } from "../table/Table";
import { matchAll, parse, type Read, tightest, without } from "../table/words";
import { Button } from "../ui/controls";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { PlacementRow } from "../wire/messages";
import styles from "./jobs.module.css";
import { leftOf, PlacementSheet } from "./PlacementSheet";

type Row = Live<PlacementRow>;

const states = ["active", "draining"];
const keys = ["state:", "app:", "role:", "pool:", "node:", "key:"];
const readers: Record<string, (p: Row) => string | readonly string[]> = {
  "": (p) => [p.id, p.key, p.purpose],
  id: (p) => p.id,
  state: (p) => p.state,
  app: (p) => p.app,
  role: (p) => p.role,
  pool: (p) => p.pools,
  node: (p) => p.nodes,
  key: (p) => p.key,
};
const read: Read<Row> = (row, key) => readers[key]?.(row);

/** pool-7, or each pool once. */
const poolsOf = (p: Row) => [...new Set(p.pools)].join(", ");

function columns(now: number): Column<Row>[] {
  const words = (get: (p: Row) => string) => (a: Row, b: Row) => byText(get(a), get(b));
  const quiet = (text: string) => <span className={styles.quiet}>{text}</span>;
  return [
    { key: "state", head: "State", width: "104px", cell: (p) => <State of={p.state} />, compare: words((p) => p.state) },
    {
      key: "id",
      head: "Placement",
      width: "116px",
      cell: (p) => (
        <Link to="/placements" search={(s) => ({ ...s, id: p.id })} className="mono" title={p.id} onClick={(e) => e.stopPropagation()}>
          {shortId(p.id)}
        </Link>
      ),
    },
    { key: "app", head: "App", width: "minmax(80px, .8fr)", cell: (p) => p.app, compare: words((p) => p.app) },
    { key: "role", head: "Role", width: "64px", cell: (p) => quiet(p.role), compare: words((p) => p.role) },
    {
      key: "key",
      head: "Key",
      width: "minmax(120px, 1.6fr)",
      cell: (p) => <span title={p.purpose || undefined}>{p.key || quiet("none")}</span>,
      compare: words((p) => p.key),
    },
    {
      key: "pool",
      head: "Pool",
      width: "minmax(88px, .8fr)",
      cell: (p) => (
        <>
          {poolsOf(p)}
          {p.fallback && quiet(" fallback")}
        </>
      ),
      compare: words(poolsOf),
    },
    {
      key: "nodes",
      head: "Nodes",
      width: "minmax(120px, 1.4fr)",
      cell: (p) => <span className="mono">{p.nodes.join(", ")}</span>,
      compare: words((p) => p.nodes.join(" ")),
    },
    { key: "slots", head: "Slots", width: "52px", number: true, cell: (p) => count(p.slots * p.nodes.length), compare: (a, b) => a.slots - b.slots },
    { key: "left", head: "Expires in", width: "84px", number: true, cell: (p) => duration(leftOf(p, now)), compare: (a, b) => leftOf(a, now) - leftOf(b, now) },
    { key: "age", head: "Since", width: "64px", number: true, cell: (p) => quiet(age(now - p.created_at)), compare: (a, b) => b.created_at - a.created_at },
  ];
}

/** Every placement that lasts, live; filter and the open one stand in the address. */
export function Placements() {
  const { q = "", id } = useSearch({ from: "/inside/placements" });
  const navigate = useNavigate({ from: "/placements" });
  const [sort, setSort] = useState("age");
  const now = useNow();
  const { rows, phase, byId } = useTopic("placements");
  const words = useMemo(() => parse(q), [q]);
  const shown = useMemo(() => rows.filter((p) => matchAll(words, p, read)), [rows, words]);
  const counts = useMemo(() => {
    const others = words.filter((w) => w.key !== "state");
    const some = rows.filter((p) => matchAll(others, p, read));
    return states.map((s): [string, number] => [s, some.filter((p) => p.state === s).length]);
  }, [rows, words]);
  const setQuery = (next: string) => void navigate({ search: next ? { q: next } : {}, replace: true });
  const open = (which: string | undefined) => void navigate({ search: { ...(q && { q }), ...(which && { id: which }) }, replace: true });
  return (
    <Page
      title="Placements"
      fill
      note={phase === "ready" && <span>{shown.length === rows.length ? count(rows.length) : `${count(shown.length)} of ${count(rows.length)}`}</span>}
    >
      <FilterBar
        label="Filter placements"
        hint="app:  role:  node:  or a part of the key"
        query={q}
        onChange={setQuery}
        complete={(begun) => keys.find((k) => begun && k.startsWith(begun))}
      />
      <StateChips counts={counts} query={q} onChange={setQuery} />
      {phase === "loading" ? (
        <Panel label="Placements">
          <Gray lines={6} wide={480} />
        </Panel>
      ) : (
        <Table
          label="Placements"
          rows={shown}
          columns={columns(now)}
          sort={sort}
          onSort={setSort}
          onOpen={(p) => open(p.id)}
          card={(p) => <Card placement={p} now={now} />}
          empty={<None rows={rows} query={q} onChange={setQuery} />}
        />
      )}
      {id && <PlacementSheet key={id} id={id} row={byId.get(id)} onClose={() => open(undefined)} />}
    </Page>
  );
}

function None({ rows, query, onChange }: { rows: Row[]; query: string; onChange(query: string): void }) {
  if (rows.length === 0) return <Empty title="No placement lasts">Ask for one with rockpool placement create, or over REST: it appears here by itself.</Empty>;
  const drop = tightest(parse(query), rows, read);
  return (
    <Empty title="No placement matches">
      <Button small onPress={() => onChange(drop ? without(query, drop.text) : "")}>
        Drop {drop?.text ?? "all words"}
      </Button>
    </Empty>
  );
}

function Card({ placement: p, now }: { placement: Row; now: number }) {
  return (
    <Link to="/placements" search={(s) => ({ ...s, id: p.id })} className={styles.card ?? ""} onClick={(e) => e.stopPropagation()}>
      <span className={styles.line}>
        <Glyph of={p.state} label={p.state} />
        <b>{p.key || shortId(p.id)}</b>
        <span className={styles.quiet}>
          {p.app}, {p.role}
        </span>
        <span className={styles.end}>{duration(leftOf(p, now))}</span>
      </span>
      <span className={styles.line}>
        <span className={styles.quiet}>{p.nodes.join(", ")}</span>
        <span className={styles.end}>{poolsOf(p)}</span>
      </span>
    </Link>
  );
}
