import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { listJobs } from "../api/calls";
import type { Job } from "../api/documents";
import { age, count, duration, shortId, span } from "../format";
import { useNow, useTopic } from "../live/live";
import { Page } from "../shell/Page";
import { isOpen, jobState } from "../state";
import { causeIn } from "../strings";
import { FilterBar } from "../table/FilterBar";
import { StateChips } from "../table/StateChips";
import { byText, type Column, Table } from "../table/Table";
import { matchAll, parse, type Read, tightest, without } from "../table/words";
import { Progress } from "../ui/bars";
import { Button } from "../ui/controls";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import { JobsBulk } from "./JobsBulk";
import styles from "./jobs.module.css";

const states = ["queued", "held", "offered", "running", "canceling", "succeeded", "failed", "timed_out", "canceled", "expired", "dead"];
const keys = ["state:", "app:", "runner:", "pool:", "node:", "reason:"];
const readers: Record<string, (j: JobRow) => string> = {
  "": (j) => j.id,
  id: (j) => j.id,
  state: jobState,
  app: (j) => j.app,
  runner: (j) => j.runner,
  pool: (j) => j.pool,
  node: (j) => j.node,
  reason: (j) => j.reason,
};
const read: Read<JobRow> = (row, key) => readers[key]?.(row);

/** How long it ran, or has been running or waiting. */
function took(j: JobRow, now: number): string {
  if (j.ended_at) return j.started_at ? span(j.ended_at - j.started_at) : "never ran";
  return duration(now - (j.started_at || j.created_at));
}

/** What is to be said of it in one cell. */
function word(j: JobRow) {
  if (j.state === "running" && j.percent === 0) return <span className={styles.quiet}>it tells no progress</span>;
  if (j.state === "running") {
    return (
      <span className={styles.progress}>
        <Progress percent={j.percent} /> {j.percent}%
      </span>
    );
  }
  return <span className={styles.quiet}>{j.detail || (j.reason && causeIn(j.reason))}</span>;
}

function columns(now: number): Column<JobRow>[] {
  const words = (get: (j: JobRow) => string) => (a: JobRow, b: JobRow) => byText(get(a), get(b));
  return [
    { key: "state", head: "State", width: "104px", cell: (j) => <State of={jobState(j)} />, compare: words(jobState) },
    {
      key: "id",
      head: "Job",
      width: "116px",
      cell: (j) => (
        <Link to="/jobs/$id" params={{ id: j.id }} className="mono" title={j.id} onClick={(e) => e.stopPropagation()}>
          {shortId(j.id)}
        </Link>
      ),
    },
    { key: "app", head: "App", width: "minmax(80px, 1fr)", cell: (j) => j.app, compare: words((j) => j.app) },
    {
      key: "runner",
      head: "Runner",
      width: "minmax(80px, .8fr)",
      cell: (j) => <span className={styles.quiet}>{j.runner}</span>,
      compare: words((j) => j.runner),
    },
    {
      key: "pool",
      head: "Pool",
      width: "minmax(80px, .8fr)",
      cell: (j) => (
        <>
          {j.pool}
          {j.fallback && <span className={styles.quiet}> fallback</span>}
        </>
      ),
      compare: words((j) => j.pool),
    },
    { key: "node", head: "Node", width: "minmax(96px, 1fr)", cell: (j) => <span className="mono">{j.node}</span>, compare: words((j) => j.node) },
    {
      key: "attempt",
      head: "Attempt",
      width: "60px",
      number: true,
      cell: (j) => <span className={styles.quiet}>{j.attempt || ""}</span>,
      compare: (a, b) => a.attempt - b.attempt,
    },
    { key: "words", head: "In words", width: "minmax(160px, 2fr)", cell: word },
    { key: "took", head: "For", width: "76px", number: true, cell: (j) => took(j, now) },
    {
      key: "age",
      head: "Submitted",
      width: "76px",
      number: true,
      cell: (j) => <span className={styles.quiet}>{age(now - j.created_at)} ago</span>,
      compare: (a, b) => b.created_at - a.created_at,
    },
  ];
}

const at = (time: string | undefined) => (time ? Date.parse(time) : 0);

/** A job of REST as a row of the channel. */
export function rowOf(j: Job): JobRow {
  return {
    id: j.id,
    app: j.app,
    runner: j.runner,
    state: j.state,
    reason: j.reason ?? "",
    detail: j.detail ?? "",
    pool: j.pool ?? "",
    node: j.node ?? "",
    attempt: j.attempt,
    percent: j.percent ?? 0,
    fallback: j.fallback,
    priority: j.priority,
    created_at: at(j.createdAt),
    started_at: at(j.startedAt),
    ended_at: at(j.endedAt),
    not_before: at(j.notBefore),
    waits: "",
  };
}

/** The newest jobs live, and the older ones page by page. */
export function Jobs() {
  const { q = "" } = useSearch({ from: "/inside/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const [sort, setSort] = useState("age");
  const now = useNow();
  const { rows: live, phase, byId } = useTopic("jobs");
  const words = useMemo(() => parse(q), [q]);
  const [older, setOlder] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const pages = useInfiniteQuery({
    queryKey: ["jobs"],
    enabled: older,
    initialPageParam: "",
    queryFn: ({ pageParam }) => listJobs({ pageToken: pageParam }),
    getNextPageParam: (last) => last.nextPageToken || undefined,
  });
  const rows = useMemo(() => {
    const history = pages.data?.pages.flatMap((p) => p.items) ?? [];
    return [...live, ...history.filter((j) => !byId.has(j.id)).map(rowOf)];
  }, [live, byId, pages.data]);
  const shown = useMemo(() => rows.filter((j) => matchAll(words, j, read)), [rows, words]);
  const counts = useMemo(() => {
    const others = words.filter((w) => w.key !== "state");
    const some = rows.filter((j) => matchAll(others, j, read));
    return states.map((s): [string, number] => [s, some.filter((j) => jobState(j) === s).length]);
  }, [rows, words]);
  const setQuery = (next: string) => navigate({ search: next ? { q: next } : {}, replace: true });
  const more = () => (older ? void pages.fetchNextPage() : setOlder(true));
  const end = older && !pages.hasNextPage && !pages.isFetching;
  return (
    <Page
      title="Jobs"
      fill
      note={
        phase !== "loading" && (
          <span>
            {phase === "partial"
              ? `${count(rows.length)} so far`
              : shown.length === rows.length
                ? `${count(rows.length)} newest`
                : `${count(shown.length)} of ${count(rows.length)}`}
          </span>
        )
      }
    >
      <FilterBar
        label="Filter jobs"
        hint="state:  app:  pool:  or a part of the id"
        query={q}
        onChange={setQuery}
        complete={(begun) => keys.find((k) => begun && k.startsWith(begun))}
      />
      <StateChips counts={counts} query={q} onChange={setQuery} note={selected.size > 0 ? "Order frozen while rows are selected" : undefined} />
      {phase === "loading" ? (
        <Panel label="Jobs">
          <Gray lines={6} wide={480} />
        </Panel>
      ) : (
        <Table
          label="Jobs"
          rows={shown}
          columns={columns(now)}
          sort={sort}
          onSort={setSort}
          onOpen={(j) => navigate({ to: "/jobs/$id", params: { id: j.id } })}
          card={(j) => <Card job={j} now={now} />}
          empty={<None rows={rows} query={q} onChange={setQuery} />}
          selection={{ ids: selected, onChange: setSelected }}
        />
      )}
      {pages.error && <Failed error={pages.error} again={() => void pages.refetch()} />}
      {phase === "ready" && !end && rows.length >= 50 && (
        <div className={styles.older}>
          <Button small onPress={more} isDisabled={pages.isFetching}>
            {pages.isFetching ? "Loading" : "Show older jobs"}
          </Button>
        </div>
      )}
      <JobsBulk rows={rows.filter((j) => selected.has(j.id))} onClear={() => setSelected(new Set())} />
    </Page>
  );
}

function None({ rows, query, onChange }: { rows: JobRow[]; query: string; onChange(query: string): void }) {
  if (rows.length === 0) return <Empty title="No job yet">Submit one with rockpool job submit, or over REST: it appears here by itself.</Empty>;
  const drop = tightest(parse(query), rows, read);
  return (
    <Empty title="No job matches">
      <Button small onPress={() => onChange(drop ? without(query, drop.text) : "")}>
        Drop {drop?.text ?? "all words"}
      </Button>
    </Empty>
  );
}

function Card({ job, now }: { job: JobRow; now: number }) {
  return (
    <Link to="/jobs/$id" params={{ id: job.id }} className={styles.card ?? ""} onClick={(e) => e.stopPropagation()}>
      <span className={styles.line}>
        <Glyph of={jobState(job)} label={jobState(job)} />
        <b className="mono">{shortId(job.id)}</b>
        <span className={styles.quiet}>
          {job.app}, {job.runner}
        </span>
        <span className={styles.end}>{isOpen(job) ? took(job, now) : `${age(now - job.created_at)} ago`}</span>
      </span>
      <span className={styles.line}>
        {job.state === "running" ? word(job) : <span className={styles.quiet}>{job.reason ? causeIn(job.reason) : job.state.replace("_", " ")}</span>}
        <span className={styles.end}>{job.node || job.pool}</span>
      </span>
    </Link>
  );
}
