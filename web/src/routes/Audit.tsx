import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { AuditEntry } from "../api/documents";
import { listAudit } from "../api/watch";
import { count, moment } from "../format";
import { Page } from "../shell/Page";
import { FilterBar } from "../table/FilterBar";
import { byText, type Column, Table } from "../table/Table";
import { matchAll, parse, type Read, tightest, type Word, without } from "../table/words";
import { Button, Copy } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Empty, Facts, Failed, Gray, Panel } from "../ui/Panel";
import { AuditChecks } from "./AuditChecks";
import { person } from "./alarm";
import styles from "./audit.module.css";

type Row = AuditEntry & { id: string };

const keys = ["action:", "object:", "actor:", "reason:"];
/** A word finds a part too: action:moved, object:ams-edge-01. */
const readers: Record<string, (e: Row) => string | string[]> = {
  "": (e) => `${e.action} ${e.object} ${e.actor} ${e.actorName ?? ""} ${e.reason ?? ""} ${e.requestId ?? ""}`,
  action: (e) => [e.action, ...e.action.split("_")],
  object: (e) => [e.object, ...e.object.split(":")],
  actor: (e) => [e.actor, e.actorName ?? ""],
  reason: (e) => e.reason ?? "",
};
const read: Read<Row> = (row, key) => readers[key]?.(row);

const who = (e: Row) => e.actorName ?? person(e.actor);
const words = (get: (e: Row) => string) => (a: Row, b: Row) => byText(get(a), get(b));
const columns: Column<Row>[] = [
  { key: "seq", head: "No.", width: "64px", number: true, cell: (e) => count(e.seq), compare: (a, b) => a.seq - b.seq },
  { key: "at", head: "At", width: "132px", cell: (e) => <time>{moment(e.at)}</time> },
  { key: "action", head: "Action", width: "minmax(140px, 1fr)", cell: (e) => <Opens row={e} />, compare: words((e) => e.action) },
  { key: "object", head: "Object", width: "minmax(140px, 1.2fr)", cell: (e) => <span className="mono">{e.object}</span>, compare: words((e) => e.object) },
  { key: "actor", head: "Who", width: "112px", cell: (e) => <Who entry={e} />, compare: words(who) },
  { key: "address", head: "From", width: "minmax(96px, .8fr)", cell: (e) => <span className={styles.quiet}>{e.address}</span> },
  { key: "reason", head: "Reason", width: "minmax(120px, 1.6fr)", cell: (e) => <span className={styles.quiet}>{e.reason}</span> },
];

/** The person by name; the id stands in the tooltip. */
const Who = ({ entry }: { entry: Row }) => <span title={entry.actor}>{who(entry)}</span>;

/** The row's own way in for keys; the row itself opens on a press. */
function Opens({ row }: { row: Row }) {
  const navigate = useNavigate({ from: "/audit" });
  return (
    <button
      type="button"
      className={styles.open}
      onClick={(e) => {
        e.stopPropagation();
        void navigate({ search: (s) => ({ ...s, seq: row.id }), replace: true });
      }}
    >
      {row.action}
    </button>
  );
}

/** What the server is asked to look for, in all entries; the words are held against what it finds. */
export function asked(words: Word[]): Record<string, string> {
  const query: Record<string, string> = {};
  for (const w of words) {
    const name = w.key || "text";
    const [value, ...others] = w.values;
    if (!w.not && value && others.length === 0 && !(name in query) && ["action", "object", "actor", "reason", "text"].includes(name)) query[name] = value;
  }
  return query;
}

/** Who changed what, the newest first, as a chain that can be checked. */
export function Audit() {
  const { q = "", seq } = useSearch({ from: "/inside/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const [sort, setSort] = useState("-seq");
  const [checks, setChecks] = useState(false);
  const filter = useMemo(() => parse(q), [q]);
  const narrowed = asked(filter);
  const pages = useInfiniteQuery({
    queryKey: ["audit", narrowed],
    initialPageParam: "",
    queryFn: ({ pageParam }) => listAudit({ ...narrowed, pageToken: pageParam }),
    getNextPageParam: (last) => last.nextPageToken || undefined,
    placeholderData: (old) => old,
  });
  const rows = useMemo<Row[]>(() => pages.data?.pages.flatMap((p) => p.items).map((e) => ({ ...e, id: String(e.seq) })) ?? [], [pages.data]);
  const shown = useMemo(() => rows.filter((e) => matchAll(filter, e, read)), [rows, filter]);
  const setQuery = (next: string) => navigate({ search: next ? { q: next } : {}, replace: true });
  const open = (id: string | undefined) => void navigate({ search: { ...(q && { q }), ...(id && { seq: id }) }, replace: true });
  const entry = rows.find((e) => e.id === seq);
  return (
    <Page
      title="Audit"
      fill
      keep
      note={
        pages.data && (
          <span>
            {`${count(shown.length)} ${q ? "found" : "newest"}`}
            {pages.hasNextPage && q ? " so far" : ""}
          </span>
        )
      }
      actions={<Button onPress={() => setChecks(true)}>Verify</Button>}
    >
      <FilterBar
        label="Filter entries"
        hint="action:  object:  actor:  or any text"
        query={q}
        onChange={setQuery}
        complete={(begun) => keys.find((k) => begun && k.startsWith(begun))}
      />
      {pages.error && !pages.data ? (
        <Panel label="Audit" flush>
          <Failed error={pages.error} again={() => void pages.refetch()} />
        </Panel>
      ) : !pages.data ? (
        <Panel label="Audit">
          <Gray lines={6} wide={480} />
        </Panel>
      ) : (
        <Table
          label="Audit"
          rows={shown}
          columns={columns}
          sort={sort}
          onSort={setSort}
          onOpen={(e) => open(e.id)}
          card={(e) => <Card entry={e} />}
          empty={<None rows={rows} query={q} onChange={setQuery} />}
        />
      )}
      {pages.hasNextPage && (
        <div className={styles.older}>
          <Button small onPress={() => void pages.fetchNextPage()} isDisabled={pages.isFetching}>
            {pages.isFetching ? "Loading" : "Read older entries"}
          </Button>
        </div>
      )}
      {entry && <EntrySheet entry={entry} onClose={() => open(undefined)} />}
      {checks && <AuditChecks onClose={() => setChecks(false)} />}
    </Page>
  );
}

function None({ rows, query, onChange }: { rows: Row[]; query: string; onChange(query: string): void }) {
  if (rows.length === 0 && query === "") return <Empty title="No entry yet">Every administrative change leaves one.</Empty>;
  const drop = tightest(parse(query), rows, read);
  return (
    <Empty title="No entry matches">
      <Button small onPress={() => onChange(drop ? without(query, drop.text) : "")}>
        Drop {drop?.text ?? "all words"}
      </Button>
    </Empty>
  );
}

function Card({ entry: e }: { entry: Row }) {
  return (
    <span className={styles.card}>
      <span className={styles.line}>
        <Opens row={e} />
        <time>{moment(e.at)}</time>
      </span>
      <span className={styles.line}>
        <span className="mono">{e.object}</span>
        <span className={styles.quiet}>
          <Who entry={e} />
        </span>
      </span>
    </span>
  );
}

function EntrySheet({ entry: e, onClose }: { entry: Row; onClose(): void }) {
  return (
    <Sheet title={`${e.action}, no. ${count(e.seq)}`} open onClose={onClose}>
      <Facts
        rows={[
          ["Object", <code key="o">{e.object}</code>],
          ["Who", <Who key="w" entry={e} />],
          ["From", e.address || "this machine"],
          ["At", moment(e.at)],
          ["Reason", e.reason || "none given"],
          ["Request", e.requestId ? <code key="r">{e.requestId}</code> : "none"],
          [
            "Sum",
            <span key="s" className={styles.sum}>
              <code>{e.sum}</code> <Copy text={e.sum} label="Copy the sum" />
            </span>,
          ],
        ]}
      />
      <Value name="Before" value={e.before} />
      <Value name="After" value={e.after} />
    </Sheet>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null) return null;
  return (
    <section className={styles.value}>
      <h3>{name}</h3>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}
