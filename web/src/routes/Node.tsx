import { Link, useParams } from "@tanstack/react-router";
import { age, bytes, count, duration, hourMinute, moment, plural, shortDigest, shortId } from "../format";
import { useNow, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { Columns, Page } from "../shell/Page";
import { holdText, nodeState, outOfUse } from "../state";
import { changeIn } from "../strings";
import { CapacityBar, Progress } from "../ui/bars";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Facts, Figure, Gray, Panel, Strip } from "../ui/Panel";
import type { LeaseChange, NodeRow } from "../wire/messages";
import { NodeActions, NodeMenu } from "./NodeActions";
import { ageOf } from "./Nodes";
import styles from "./node.module.css";

type Row = Live<NodeRow>;

/** One node: what it has, how well it held, what it does. */
export function Node() {
  const { id } = useParams({ from: "/inside/nodes/$id" });
  const { rows, phase, refusal } = useTopic(`node/${id}`);
  const node = rows[0];
  const none = phase === "ready" || phase === "refused";
  if (!node) {
    return (
      <Page title={id} above={{ to: "/nodes", text: "Nodes" }}>
        <Panel label="Node" flush={none}>
          {none ? <Empty title={gone(refusal)} /> : <Gray lines={4} wide={320} />}
        </Panel>
      </Page>
    );
  }
  return (
    <Page
      title={node.id}
      above={{ to: "/nodes", text: "Nodes" }}
      note={<Note node={node} />}
      menu={<NodeMenu node={node} />}
      actions={
        <>
          <NodeActions node={node} />
          <span className={styles.deskOnly}>
            <NodeMenu node={node} />
          </span>
        </>
      }
    >
      <Numbers node={node} />
      <Columns
        main={
          <>
            <Lease node={node} />
            <Work node={node} />
          </>
        }
        side={
          <>
            <Session node={node} />
            <Identity node={node} />
          </>
        }
      />
    </Page>
  );
}

const gone = (refusal: { code: string; detail: string } | undefined) =>
  refusal && refusal.code !== "not_found" ? refusal.detail : "There is no such node, or it is not yours to see";

function Note({ node }: { node: Row }) {
  const facts = [node.role, node.region, node.backend].filter(Boolean).join(", ");
  return (
    <>
      <State of={nodeState(node)} strong />
      <span>
        in{" "}
        <Link to="/pools/$id" params={{ id: node.pool }}>
          {node.pool}
        </Link>
        {facts && `, ${facts}`}
      </span>
    </>
  );
}

function Numbers({ node }: { node: Row }) {
  const out = outOfUse(node);
  const free = node.slots_total - node.slots_used;
  return (
    <Strip>
      <Figure label="Slots" value={count(node.slots_used)} note={`of ${count(node.slots_total)}`}>
        <CapacityBar used={node.slots_used} out={out} total={node.slots_total} />
        <span className={styles.under}>{out > 0 ? `${count(out)} out of use` : `${count(free)} free`}</span>
      </Figure>
      <Figure label="Running" value={count(node.running.length)} note={node.running.length === 1 ? "job" : "jobs"} />
      <Figure label="Load" value={node.load_milli > 0 ? (node.load_milli / 1000).toFixed(2) : "—"} note={node.load_milli > 0 ? "average" : "not told"} />
      <Figure
        label="Memory in use"
        value={node.memory_mib > 0 ? bytes(node.memory_mib * 1_048_576).split(" ")[0] : "—"}
        note={node.memory_mib > 0 ? bytes(node.memory_mib * 1_048_576).split(" ")[1] : "not told"}
      />
    </Strip>
  );
}

interface Span {
  state: string;
  from: number;
  to: number;
  cause: string;
}

/** The changes of a lease as spans up to now. */
function spans(timeline: LeaseChange[], now: number): Span[] {
  return timeline.map((c, i) => ({ state: c.state, cause: c.cause, from: c.at_ms, to: Math.max(c.at_ms, timeline[i + 1]?.at_ms ?? now) }));
}

function Lease({ node }: { node: Row }) {
  const now = useNow();
  const list = spans(node.timeline, now);
  const first = list[0];
  const whole = first ? Math.max(1, now - first.from) : 1;
  const ready = list.reduce((ms, s) => ms + (s.state === "ready" ? s.to - s.from : 0), 0);
  const breaks = list.filter((s) => s.state !== "ready" && s.state !== "new").toReversed();
  if (!first) {
    return (
      <Panel title="Lease" flush>
        <Empty title="It never had a session">Its lease begins with its first heartbeat.</Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Lease" side={<Breaks list={breaks} />} note={`${duration(whole)}, ready ${((ready / whole) * 100).toFixed(1).replace(".0", "")}%`}>
      <div className={styles.strip}>
        {list.map((s) => (
          <span
            key={`${s.state} ${s.from}`}
            className={styles[s.state] ?? styles.other}
            style={{ flexGrow: Math.max(1, s.to - s.from) }}
            title={`${s.state} for ${duration(s.to - s.from)} from ${moment(s.from)}: ${changeIn(s.cause)}`}
          />
        ))}
      </div>
      <div className={styles.axis}>
        <span>{hourMinute(first.from)}</span>
        <span>now</span>
      </div>
      <ul className={styles.changes} aria-label="Breaks of the lease">
        {breaks.slice(0, 6).map((s) => (
          <li key={`${s.state} ${s.from}`}>
            <Glyph of={s.state} /> <time>{moment(s.from)}</time>
            <b>
              {s.state} for {duration(s.to - s.from)}
            </b>
            <span>{changeIn(s.cause)}</span>
          </li>
        ))}
        {breaks.length === 0 && <li className={styles.quiet}>No break since {moment(first.from)}.</li>}
      </ul>
    </Panel>
  );
}

/** How often the lease broke, by state. */
function Breaks({ list }: { list: Span[] }) {
  const states = [...new Set(list.map((s) => s.state))];
  return (
    <>
      {states.map((state) => (
        <span key={state} className={styles.count}>
          <Glyph of={state} size={10} /> {list.filter((s) => s.state === state).length} {state}
        </span>
      ))}
    </>
  );
}

function Work({ node }: { node: Row }) {
  const jobs = useTopic("jobs").byId;
  const now = useNow();
  return (
    <Panel
      title="Running work"
      note={plural(node.running.length, "job")}
      flush
      side={
        <Link to="/jobs" search={{ q: `node:${node.id}` }} data-link>
          Open as jobs
        </Link>
      }
    >
      {node.running.length === 0 ? (
        <Empty title="Nothing runs here">
          {nodeState(node) === "ready" ? "It waits for work of its pool." : `It is ${nodeState(node)}: no new work comes here.`}
        </Empty>
      ) : (
        <ul className={styles.work}>
          <li className={styles.workHead} aria-hidden="true">
            <span>Job</span>
            <span>App and runner</span>
            <span>Attempt</span>
            <span>Progress</span>
            <span />
            <span className={styles.time}>Running for</span>
          </li>
          {node.running.map((w) => {
            const job = jobs.get(w.job);
            return (
              <li key={`${w.job} ${w.attempt}`}>
                <Link to="/jobs/$id" params={{ id: w.job }} className="mono" title={w.job}>
                  {shortId(w.job)}
                </Link>
                <span className={styles.what}>{job ? `${job.app}, ${job.runner}` : ""}</span>
                <span className={styles.quiet}>
                  <span className="visually-hidden">attempt </span>
                  {w.attempt}
                </span>
                <span className={styles.bar}>
                  <Progress percent={w.percent} />
                </span>
                <span className={styles.percent}>{w.phase === "running" ? `${w.percent}%` : w.phase}</span>
                <span className={styles.time}>{job?.started_at ? duration(now - job.started_at) : ""}</span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

function Session({ node }: { node: Row }) {
  const now = useNow();
  const seen = ageOf(node.last_seen_ms, node.received, now);
  const since = ageOf(node.since_ms, node.received, now);
  return (
    <Panel title="Session" side={seen < 0 ? "never seen" : `seen ${age(seen)} ago`}>
      <Facts
        rows={[
          ["Epoch", node.epoch > 0 ? count(node.epoch) : "none yet"],
          ["State", since < 0 ? node.lease : `${node.lease} for ${duration(since)}`],
          ["From", node.address ? <code key="a">{node.address}</code> : "unknown"],
          ["Takes work", node.accepting ? "yes" : node.accept_reason || "no"],
          ["Health", node.healthy ? "good" : node.health_reasons.join(", ") || "not good"],
          ["Agent", [node.agent_version, node.os, node.arch].filter(Boolean).join(", ") || "unknown"],
          ["Spool", node.spooled > 0 ? plural(node.spooled, "result") : "empty"],
        ]}
      />
    </Panel>
  );
}

function Identity({ node }: { node: Row }) {
  const rows: [string, React.ReactNode][] = [
    ["Owner", node.owner ? `user ${node.owner}` : "none"],
    [
      "Machine",
      node.machine_id ? (
        <code key="m" title={node.machine_id}>
          {shortDigest(node.machine_id)}
        </code>
      ) : (
        "unknown"
      ),
    ],
    ["Runners", node.runners.join(", ") || "none"],
    ["Holds", node.holds.length > 0 ? node.holds.map(holdText).join("; ") : "none"],
  ];
  if (node.endpoints.length > 0) rows.push(["Endpoints", node.endpoints.map((e) => `${e.n} ${e.v}`).join(", ")]);
  if (node.labels.length > 0) rows.push(["Labels", node.labels.map((l) => `${l.n}=${l.v}`).join(", ")]);
  return (
    <Panel title="Identity">
      <Facts rows={rows} />
    </Panel>
  );
}
