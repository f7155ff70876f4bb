import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Attempt, Explanation, Job, Standing } from "../api/documents";
import { count, moment, plural } from "../format";
import { useNow, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { causeIn } from "../strings";
import { Button } from "../ui/controls";
import { Facts, Gray, Panel } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { AlarmRow, JobRow } from "../wire/messages";
import { type Help, helps } from "./helps";
import { useExplanation } from "./JobWhy";
import styles from "./jobqueue.module.css";
import { waitText } from "./waits";

/** What a job that waits can hope for. */

/** Where it stands among what waits for its pool. */
export function PlaceInQueue({ row, job }: { row: JobRow; job: Job | undefined }) {
  const { data } = useExplanation(row);
  const at = data?.queue;
  if (data && !at) return null; // it waits for something else than a node
  return (
    <Panel title="Place in the queue" note={at?.pool} flush>
      {at ? (
        <>
          <div className={styles.place}>
            <strong>{count(at.position)}</strong> of {count(at.of)} of {row.app}
            <p>What can't be placed holds nobody back.</p>
          </div>
          <div className={styles.pad}>
            <Facts
              wide
              rows={[
                ["Ahead, asking the same", count(at.aheadAlike)],
                ["Ahead, asking for other", count(at.aheadOther)],
                ["Other apps of the pool", at.otherApps > 0 ? `${count(at.otherApps)}, with ${plural(at.otherWork, "job")}` : "none waiting"],
                [`Share of ${row.app}`, shareWords(at)],
                ...(job?.waits ? ([["Waited", waitText(job)]] as [string, ReactNode][]) : []),
              ]}
            />
          </div>
        </>
      ) : (
        <div className={styles.pad}>
          <Gray lines={4} wide={280} />
        </div>
      )}
    </Panel>
  );
}

const shareWords = (at: Standing) =>
  at.otherApps > 0 ? `${Math.round((100 * at.weight) / at.weights)} %, weight ${at.weight} of ${at.weights}` : `all of it, weight ${at.weight}`;

/** What would let it run: by itself first, then by a change, the smallest consequence first. */
export function WhatWouldHelp({ row, job }: { row: JobRow; job: Job | undefined }) {
  const session = useSession();
  const { data } = useExplanation(row);
  const shared = useTopic("pools").byId.get("default");
  if (!data || !job) return null;
  const list = helps(data, { app: row.app, slots: job.asks.slots, sharedFree: shared?.slots_free ?? 0 });
  if (list.length === 0) return null;
  const act: Record<Help["kind"], ReactNode> = {
    reserved: null,
    slots: null,
    hold: maySteer(session) ? undefined : <span className={styles.quiet}>an operator can</span>,
    fewer: <CopyFewer job={job} slots={list.find((h) => h.kind === "fewer")?.slots ?? 0} />,
    fallback: isSuperadmin(session) ? (
      <Link to="/apps" search={{ app: row.app }} className={styles.go ?? ""}>
        Open binding
      </Link>
    ) : (
      <span className={styles.quiet}>a superadmin can</span>
    ),
  };
  const part = (title: string, some: Help[]) =>
    some.length > 0 && (
      <>
        <h3 className={styles.sub}>{title}</h3>
        <ul className={styles.helps}>
          {some.map((h) => (
            <li key={h.title}>
              <div>
                <b>{h.title}</b>
                <p>{h.words}</p>
              </div>
              {act[h.kind] === undefined && h.node ? (
                <Link to="/nodes/$id" params={{ id: h.node }} className={styles.go ?? ""}>
                  Open node
                </Link>
              ) : (
                act[h.kind]
              )}
            </li>
          ))}
        </ul>
      </>
    );
  return (
    <Panel title="What would help" flush>
      {part(
        "By itself",
        list.filter((h) => h.itself),
      )}
      {part(
        "By a change, smallest consequence first",
        list.filter((h) => !h.itself),
      )}
    </Panel>
  );
}

/** The demands with fewer slots, for a new submit. */
function CopyFewer({ job, slots }: { job: Job; slots: number }) {
  const text = JSON.stringify({ app: job.app, role: job.role, runner: job.runner, demands: { slots, memoryMib: job.asks.memoryMib } }, null, 2);
  return (
    <Button small onPress={() => void navigator.clipboard?.writeText(text).then(() => toast("Copied; add its params and inputs."))}>
      Copy as JSON
    </Button>
  );
}

/** What has happened to it so far. */
export function SinceSubmit({ row, attempts }: { row: JobRow; attempts: Attempt[] | undefined }) {
  const now = useNow();
  const { data } = useExplanation(row);
  const alarms = useTopic("alarms").rows;
  const events = eventsOf(row, attempts ?? [], alarms, data, now);
  return (
    <Panel title="Since submit">
      <ol className={styles.events}>
        {events.map((e) => (
          <li key={`${e.at} ${e.words}`}>
            <time>{moment(e.at)}</time>
            <span>{e.words}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function eventsOf(row: JobRow, attempts: Attempt[], alarms: Live<AlarmRow>[], e: Explanation | undefined, now: number) {
  const list = [{ at: row.created_at, words: "queued" }];
  for (const a of attempts) {
    if (a.assignedAt) list.push({ at: Date.parse(a.assignedAt), words: `attempt ${a.attempt} offered to ${a.node}` });
    if (a.endedAt) list.push({ at: Date.parse(a.endedAt), words: `attempt ${a.attempt}: ${a.reason ? causeIn(a.reason) : a.outcome}` });
  }
  for (const a of alarms) {
    if (a.app !== row.app) continue;
    const raised = Math.round((a.received - a.age_ms) / 1000) * 1000;
    if (raised >= row.created_at - 1000 && raised <= now) list.push({ at: Math.max(raised, row.created_at), words: `alarm ${a.kind} raised` });
  }
  if (row.not_before > now) list.push({ at: row.not_before, words: "it may run from then on" });
  if (e) list.push({ at: Date.parse(e.at), words: `checked again: ${row.reason ? causeIn(row.reason) : "it waits"}` });
  return list.toSorted((a, b) => a.at - b.at);
}
