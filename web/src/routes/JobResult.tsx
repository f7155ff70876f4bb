import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { artifactPath, getLog } from "../api/calls";
import { Refusal } from "../api/client";
import type { Job } from "../api/documents";
import { bytes, moment, shortDigest, shortId, span } from "../format";
import { isOpen } from "../state";
import { plainText } from "../text";
import { Copy, IconButton } from "../ui/controls";
import { Icon } from "../ui/Icon";
import { Empty, Facts, Failed, Gray, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import styles from "./job.module.css";
import { LiveLog, saveLog } from "./LiveLog";
import { waitText } from "./waits";

/** What came of a job: its result, its files and the two ends of its log. */

export function Result({ row, job }: { row: JobRow; job: Job | undefined }) {
  const outputs = Object.entries(job?.outputs ?? {});
  const rows: [string, ReactNode][] = [];
  if (job?.queuedMs !== undefined) rows.push(["Waited", waitText(job)]);
  if (job?.notBefore) rows.push(["Not before", moment(job.notBefore)]);
  if (job?.retryOf) rows.push(["Retry of", <JobLink key="of" id={job.retryOf} />]);
  if (job && row.attempt > 0)
    rows.push(["On node loss", { requeue: "runs again", fail: "fails", hold: "waits for a person" }[job.asks.onNodeLost] ?? job.asks.onNodeLost]);
  if (job && job.asks.runTimeout !== "0s") rows.push(["Run timeout", job.asks.runTimeout]);
  if (row.started_at && row.ended_at) rows.push(["Ran for", span(row.ended_at - row.started_at)]);
  if (job?.exitCode !== undefined) rows.push(["Exit code", job.exitCode]);
  if (row.detail) rows.push(["Detail", plainText(row.detail)]);
  rows.push(...values(job?.output, isOpen(row)));
  return (
    <Panel title="Result" flush>
      <div className={styles.pad}>
        <Facts rows={rows} />
      </div>
      {outputs.length > 0 && (
        <ul className={styles.files} aria-label="Files">
          {outputs.map(([name, digest]) => (
            <li key={name}>
              <a href={artifactPath(digest)} download={name} data-link>
                <Icon name="download" size={14} /> {name}
              </a>
              <code title={digest}>{shortDigest(digest)}</code>
              <Copy text={digest} label={`Copy the digest of ${name}`} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function JobLink({ id }: { id: string }) {
  return (
    <Link to="/jobs/$id" params={{ id }} className="mono" title={id} data-link>
      {shortId(id)}
    </Link>
  );
}

/** The output document: each plain value a line, the rest as JSON. */
function values(output: unknown, open: boolean): [string, ReactNode][] {
  if (output === undefined || output === null) return [["Result", open ? "not yet" : "none"]];
  if (typeof output !== "object" || Array.isArray(output)) return [["Result", plain(output)]];
  return Object.entries(output).map(([key, value]): [string, ReactNode] => [plainText(key), plain(value)]);
}

const plain = (value: unknown) => <code>{plainText(typeof value === "string" ? value : JSON.stringify(value))}</code>;

/** While the attempt runs, what it writes; then head and tail, which came with the result; what lies between was not kept. */
export function Log({ row }: { row: JobRow }) {
  const ended = !isOpen(row);
  const log = useQuery({ queryKey: ["log", row.id, row.attempt, row.state], queryFn: () => getLog(row.id), enabled: ended });
  const none = log.error instanceof Refusal && log.error.status === 404;
  const l = log.data;
  const whole = l && l.head === "" && l.tail === "";
  if (row.state === "running" || row.state === "canceling") return <LiveLog key={row.attempt} row={row} />;
  const save = l && !whole && (
    <span className={styles.save}>
      <IconButton icon="download" label="Save the log" onPress={() => saveLog(row.id, l.head + l.tail)} />
    </span>
  );
  return (
    <Panel title="Log" note={l ? `attempt ${l.attempt}, ${bytes(l.bytes)}` : undefined} side={save} flush grow>
      {!ended ? (
        <Empty title="No log yet">It is shown here as soon as the tool runs.</Empty>
      ) : none || whole ? (
        <Empty title="No log">{row.attempt === 0 ? "It never ran." : "The tool wrote nothing."}</Empty>
      ) : log.error ? (
        <Failed error={log.error} again={() => void log.refetch()} />
      ) : l ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <div className={styles.log} tabIndex={0} role="region" aria-label="Log, text">
          <pre>{plainText(l.head)}</pre>
          {l.truncated && <p>{bytes(Math.max(0, l.bytes - l.head.length - l.tail.length))} not kept</p>}
          {l.tail && <pre>{plainText(l.tail)}</pre>}
        </div>
      ) : (
        <div className={styles.pad}>
          <Gray lines={3} />
        </div>
      )}
    </Panel>
  );
}
