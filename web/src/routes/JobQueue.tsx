import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Attempt, Decision, Explanation, Job, Standing } from "../api/documents";
import { age, count, moment, plural } from "../format";
import { useNow, useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { byReason, causeIn } from "../strings";
import { Button } from "../ui/controls";
import { Facts, Gray, Panel } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { AlarmRow, JobRow } from "../wire/messages";
import { freedIn, type Help, helps } from "./helps";
import { useDecision, useExplanation } from "./JobWhy";
import styles from "./jobqueue.module.css";
import { LiftSheet } from "./NodeActions";
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
            <p>{passedWords(at)}</p>
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

const later = (n: number) => (n >= mostPassed ? `${count(n)} or more later jobs` : plural(n, "later job"));

/** The server counts no further. */
const mostPassed = 1000;

const passedWords = (at: Standing) => `What can't be placed holds nobody back${at.passed > 0 ? `; ${later(at.passed)} passed it` : ""}.`;

const shareWords = (at: Standing) =>
  at.otherApps > 0 ? `${Math.round((100 * at.weight) / at.weights)} %, weight ${at.weight} of ${at.weights}` : `all of it, weight ${at.weight}`;

/** When what runs on the node will have freed as much, where its progress says so. */
function Freed({ help, node }: { help: Help; node: string }) {
  const row = useTopic(`node/${node}`).byId.get(node);
  const now = useNow();
  const left = row && help.slots ? freedIn(row.running, help.slots, now) : undefined;
  return left === undefined ? null : (
    <span className={styles.when} title="By the progress of what runs there">
      in about {left < 60_000 ? "1m" : age(left)}
    </span>
  );
}

/** The way to the change, for those who may make it; who else is told who may. */
function Act({ help: h, job }: { help: Help; job: Job }): ReactNode {
  const session = useSession();
  if (h.kind === "hold") {
    const may = h.hold === "auto" ? isSuperadmin(session) : maySteer(session);
    return may && h.node && h.hold ? (
      <Lift node={h.node} hold={h.hold} />
    ) : (
      <span className={styles.quiet}>{h.hold === "auto" ? "a superadmin can" : "an operator can"}</span>
    );
  }
  if (h.kind === "fewer") return <CopyFewer job={job} slots={h.slots ?? 0} />;
  if (!isSuperadmin(session)) return <span className={styles.quiet}>a superadmin can</span>;
  return (
    <Link to="/apps" search={{ app: job.app }} className={styles.go ?? ""}>
      Open binding
    </Link>
  );
}

/** Lifts the hold in a sheet that says what it would do. */
function Lift({ node, hold }: { node: string; hold: NonNullable<Help["hold"]> }) {
  const row = useTopic(`node/${node}`).byId.get(node);
  const stale = useStale();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small onPress={() => setOpen(true)} isDisabled={!row} why={stale ? "No word from the server" : undefined}>
        Lift {hold === "auto" ? "hold" : hold}
      </Button>
      {open && row && <LiftSheet node={row} kind={hold === "auto" ? "auto" : ""} onClose={() => setOpen(false)} />}
    </>
  );
}

/** What would let it run: by itself first, then by a change, the smallest consequence first. */
export function WhatWouldHelp({ row, job }: { row: JobRow; job: Job | undefined }) {
  const { data } = useExplanation(row);
  const shared = useTopic("pools").byId.get("default");
  if (!data || !job) return null;
  const list = helps(data, { app: row.app, slots: job.asks.slots, sharedFree: shared?.slots_free ?? 0 });
  if (list.length === 0) return null;
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
              {h.itself ? h.node && <Freed help={h} node={h.node} /> : <span className={styles.when}>at once</span>}
              {!h.itself && (
                <span className={styles.act}>
                  <Act help={h} job={job} />
                </span>
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
  const first = useDecision(row).data;
  const events = eventsOf(row, attempts ?? [], alarms, data, first, now);
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

/** queued: 9 draining, 3 slots, 2 backend */
function withReasons(word: string, d: Decision | undefined): string {
  const taken = d?.outcome === "placed" ? [] : (d?.pools.flatMap((p) => Object.entries(p.rejected)) ?? []);
  const told = taken.filter(([, n]) => n > 0).sort(([a], [b]) => byReason(a, b));
  return told.length === 0 ? word : `${word}: ${told.map(([reason, n]) => `${count(n)} ${reason}`).join(", ")}`;
}

function eventsOf(row: JobRow, attempts: Attempt[], alarms: Live<AlarmRow>[], e: Explanation | undefined, kept: Decision | undefined, now: number) {
  const list = [{ at: row.created_at, words: row.attempt === 0 ? withReasons("queued", kept) : "queued" }];
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
  if (e?.queue?.passedAt) list.push({ at: Date.parse(e.queue.passedAt), words: `passed by ${later(e.queue.passed)} of ${row.app}` });
  if (e?.queue?.reserved) list.push({ at: Date.parse(e.at), words: `the next room on ${e.queue.reserved} is reserved for it` });
  if (e) list.push({ at: Date.parse(e.at), words: `checked again: ${row.reason ? causeIn(row.reason) : "it waits"}` });
  return list.toSorted((a, b) => a.at - b.at);
}
