import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { getAttempts, getJob } from "../api/calls";
import { Refusal } from "../api/client";
import type { Attempt, Job as JobDocument } from "../api/documents";
import { bytes, duration, plural, shortId, span } from "../format";
import { useNow, useStale, useTopic } from "../live/live";
import { Columns, Page } from "../shell/Page";
import { isOpen, jobState } from "../state";
import { causeIn } from "../strings";
import { Progress } from "../ui/bars";
import { Button, Copy } from "../ui/controls";
import { Menu } from "../ui/floating";
import { State } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { Empty, Fact, Failed, Gray, Panel, Strip } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { JobRow } from "../wire/messages";
import { CancelJob } from "./CancelJob";
import { Attempts } from "./JobAttempts";
import { PlaceInQueue, SinceSubmit, WhatWouldHelp } from "./JobQueue";
import { Log, Result } from "./JobResult";
import { rowOf } from "./Jobs";
import { WhyThisNode, WhyWaiting } from "./JobWhy";
import styles from "./job.module.css";
import { ResolveJob, RetryJob } from "./ResolveJob";

/** One job: where it is, why there, and what came of it. */
export function Job() {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  const live = useTopic(`job/${id}`).rows[0];
  // The live row says when to look again: its documents change with it.
  const at = live ? `${live.state} ${live.attempt} ${live.reason}` : "";
  const job = useQuery({ queryKey: ["job", id, at], queryFn: () => getJob(id), placeholderData: (old) => old });
  const attempts = useQuery({ queryKey: ["attempts", id, at], queryFn: () => getAttempts(id), placeholderData: (old) => old });
  const row = live ?? (job.data && rowOf(job.data));
  if (!row) {
    const none = job.error instanceof Refusal && job.error.status === 404;
    return (
      <Page title={shortId(id)} above={{ to: "/jobs", text: "Jobs" }}>
        <Panel label="Job" flush={Boolean(job.error)}>
          {none ? (
            <Empty title="There is no such job, or it is not yours to see" />
          ) : job.error ? (
            <Failed error={job.error} again={() => void job.refetch()} />
          ) : (
            <Gray lines={4} wide={320} />
          )}
        </Panel>
      </Page>
    );
  }
  return <Loaded row={row} job={job.data} attempts={attempts.data?.items} failed={attempts.error} />;
}

interface LoadedProps {
  row: JobRow;
  job: JobDocument | undefined;
  attempts: Attempt[] | undefined;
  failed: unknown;
}

function Loaded({ row, job, attempts, failed }: LoadedProps) {
  const stale = useStale();
  const [act, setAct] = useState<"cancel" | "retry" | "resolve" | null>(null);
  const open = isOpen(row);
  const held = jobState(row) === "held";
  const off = stale ? "No word from the server" : undefined;
  const close = () => setAct(null);
  const copyJson = () => navigator.clipboard?.writeText(JSON.stringify(job ?? row, null, 2)).then(() => toast("Copied."));
  const waiting = row.state === "queued" && !held;
  return (
    <Page
      title={shortId(row.id)}
      above={{ to: "/jobs", text: "Jobs" }}
      note={<Note row={row} />}
      menu={
        <Menu
          label="More"
          entries={[
            { id: "id", text: "Copy id", onAction: () => void navigator.clipboard?.writeText(row.id).then(() => toast("Copied.")) },
            { id: "json", text: "Copy as JSON", onAction: () => void copyJson() },
            ...(held ? [{ id: "resolve", text: "Resolve", onAction: () => setAct("resolve"), off: stale }] : []),
            open
              ? { id: "cancel", text: "Cancel job", onAction: () => setAct("cancel"), off: stale }
              : { id: "retry", text: "Retry", onAction: () => setAct("retry"), off: stale },
          ]}
        >
          <Icon name="more" />
        </Menu>
      }
      actions={
        <span className={styles.deskOnly}>
          <Button onPress={() => void copyJson()}>Copy as JSON</Button>
          {open ? (
            <Button onPress={() => setAct("cancel")} why={off ?? (row.state === "canceling" ? "It is being canceled" : undefined)}>
              Cancel job
            </Button>
          ) : (
            <Button onPress={() => setAct("retry")} why={off}>
              Retry
            </Button>
          )}
          {held && (
            <Button tone="primary" onPress={() => setAct("resolve")} why={off}>
              Resolve
            </Button>
          )}
        </span>
      }
    >
      {row.state === "running" && row.percent > 0 && (
        <div className={styles.phoneBar}>
          <Progress percent={row.percent} />
        </div>
      )}
      <Facts row={row} job={job} />
      <Columns
        main={
          <>
            {waiting && <WhyWaiting row={row} />}
            {waiting && <WhatWouldHelp row={row} job={job} />}
            {failed && !attempts ? (
              <Panel title="Attempts" flush>
                <Failed error={failed} />
              </Panel>
            ) : waiting && attempts?.length === 0 ? null : (
              <Attempts row={row} attempts={attempts} asks={job?.asks} />
            )}
            {!waiting && (
              <div className={styles.late}>
                <Log row={row} />
              </div>
            )}
          </>
        }
        side={
          <>
            {waiting && <PlaceInQueue row={row} job={job} />}
            <WhyThisNode row={row} slots={job?.asks.slots} />
            {waiting ? (
              <SinceSubmit row={row} attempts={attempts} />
            ) : (
              <div className={styles.last}>
                <Result row={row} job={job} />
              </div>
            )}
          </>
        }
      />
      {act === "cancel" && <CancelJob row={row} onClose={close} />}
      {act === "retry" && <RetryJob row={row} onClose={close} />}
      {act === "resolve" && <ResolveJob row={row} onClose={close} />}
    </Page>
  );
}

function Note({ row }: { row: JobRow }) {
  const now = useNow();
  const where: ReactNode = row.node ? (
    <>
      on{" "}
      <Link to="/nodes/$id" params={{ id: row.node }}>
        {row.node}
      </Link>
      , attempt {row.attempt}
    </>
  ) : row.ended_at ? null : (
    `for ${duration(now - row.created_at)}, ${row.attempt === 0 ? "no attempt yet" : `after attempt ${row.attempt}`}`
  );
  return (
    <>
      <span className={styles.deskOnly}>
        <Copy text={row.id} label="Copy the job's id" />
      </span>
      <State of={jobState(row)} strong />
      <span>{where}</span>
      {row.state === "running" && row.percent > 0 && <span className={styles.percent}>{row.percent}%</span>}
    </>
  );
}

function Facts({ row, job }: { row: JobRow; job: JobDocument | undefined }) {
  const now = useNow();
  const asks = job?.asks;
  const since = row.ended_at ? span(row.ended_at - row.created_at) : duration(now - row.created_at);
  const ended = row.ended_at > 0;
  return (
    <>
      <div className={styles.facts}>
        <Strip>
          <Fact label="App">{row.app}</Fact>
          <Fact label="Runner">{row.runner}</Fact>
          <Fact label="Pool">
            {row.pool || job?.reasons?.[0]?.pool || "none yet"}
            {row.fallback && ", as fallback"}
          </Fact>
          <Fact label="Asks for">{job ? asksFor(job) : "—"}</Fact>
          <Fact label="Priority">{row.priority}</Fact>
          {row.state === "queued" && row.attempt === 0 ? (
            <Fact label="Queue timeout">{!asks ? "—" : asks.queueTimeout === "0s" ? "none, waits for ever" : asks.queueTimeout}</Fact>
          ) : (
            <Fact label="Tries counted">{asks ? `${asks.counted} of ${asks.maxAttempts}` : "—"}</Fact>
          )}
          {(row.state !== "queued" || row.attempt > 0) && <Fact label={ended ? "Took" : "Since submit"}>{since}</Fact>}
          {ended && row.reason && <Fact label="Ended because">{causeIn(row.reason)}</Fact>}
        </Strip>
      </div>
      <p className={styles.short}>
        {[row.app, row.runner, row.pool, asks && plural(asks.slots, "slot"), ended ? `took ${since}` : `since submit ${since}`].filter(Boolean).join(", ")}
        {ended && row.reason && `; ${causeIn(row.reason)}`}
      </p>
    </>
  );
}

/** edge, cuda, eu-west, 2 slots, 512 MiB */
function asksFor(job: JobDocument): string {
  const { backend, region, slots, memoryMib } = job.asks;
  return [job.role, backend, region, plural(slots, "slot"), memoryMib > 0 && bytes(memoryMib * 1_048_576)].filter(Boolean).join(", ");
}
