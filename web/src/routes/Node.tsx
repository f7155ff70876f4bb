import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { getNode } from "../api/calls";
import type { Node as NodeDocument, NodeHistory, Seat } from "../api/documents";
import { age, bytes, count, duration, fine, hourMinute, moment, plural, shortDigest, shortId } from "../format";
import { useNow, useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { Columns, Page } from "../shell/Page";
import { clockWords, holdText, nodeState, outOfUse } from "../state";
import { changeIn, declineIn } from "../strings";
import { plainText } from "../text";
import { CapacityBar } from "../ui/bars";
import { Button } from "../ui/controls";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Facts, Figure, Gray, Panel, Strip } from "../ui/Panel";
import type { LeaseChange, NodeRow, Share } from "../wire/messages";
import { LiftSheet, liftable, NodeActions, NodeMenu } from "./NodeActions";
import { NodeClaimants } from "./NodeClaimants";
import { NodeInventory } from "./NodeInventory";
import { NodeDecisions, NodeLog, useHistory } from "./NodePast";
import { ageOf } from "./Nodes";
import { NodeWork } from "./NodeWork";
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
            <NodeClaimants node={node} />
            <Lease node={node} />
            <NodeWork node={node} />
            <NodeDecisions node={node} />
          </>
        }
        side={
          <>
            <Session node={node} />
            <Identity node={node} />
            <NodeLog node={node} />
            <NodeInventory node={node} />
          </>
        }
      />
    </Page>
  );
}

const gone = (refusal: { code: string; detail: string } | undefined) =>
  refusal && refusal.code !== "not_found" ? refusal.detail : "There is no such node, or it is not yours to see";

function Note({ node }: { node: Row }) {
  const now = useNow();
  const facts = [node.role, node.region, node.backend].filter(Boolean).join(", ");
  const seen = ageOf(node.last_seen_ms, node.received, now);
  return (
    <>
      <State of={nodeState(node)} strong />
      <span className={styles.phoneOnly}>{seen < 0 ? "never seen" : `seen ${age(seen)} ago`}</span>
      <span className={styles.where}>
        <span className={styles.deskOnly}>in </span>
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
  const free = node.slots_total - node.slots_used - out;
  const host = node.memory.some((m) => m.name === "host");
  const things = [
    ...(host || node.memory_mib > 0 ? [<Host key="host" node={node} />] : []),
    ...node.memory.filter((m) => m.name !== "host").map((m) => <Domain key={`m ${m.name}`} memory={m} />),
    ...node.resources.map((r) => <Resource key={`r ${r.name}`} resource={r} />),
  ];
  return (
    <div className={styles.numbers}>
      <Strip>
        <Figure label="Slots" value={count(node.slots_used)} note={`of ${count(node.slots_total)}`}>
          <CapacityBar used={node.slots_used} out={out} total={node.slots_total} />
          <span className={styles.under}>
            {plural(node.running.length, "job")}, {node.placements > 0 ? plural(node.placements, "placement") : `${count(free)} free`}
            {out > 0 && `, ${count(out)} out of use`}
          </span>
        </Figure>
        {things.slice(0, most)}
        {things.length < most && (
          <Figure label="Load" value={node.load_milli > 0 ? (node.load_milli / 1000).toFixed(2) : "—"} note={node.load_milli > 0 ? "average" : "not told"} />
        )}
      </Strip>
    </div>
  );
}

/** So many numbers stand beside the slots. */
const most = 3;
const mib = 1_048_576;

/** 41.2 of 64 GiB: both in the unit of the whole. */
function inUnit(used: number, total: number): { value: string; note: string } {
  const [, unit = ""] = bytes(total * mib).split(" ");
  const size = { KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: 1_048_576 }[unit] ?? 1;
  const short = (n: number) => String(Number((n / size).toFixed(1)));
  return { value: short(used), note: `of ${short(total)} ${unit}` };
}

/** The node's record, read anew with each version of it. */
const useRecord = (node: Row) =>
  useQuery({ queryKey: ["node", node.id, node.version, node.epoch], queryFn: () => getNode(node.id), placeholderData: (old) => old }).data;

/** The machine's own memory: in use as the node says, reserved as we hold it, or all of it as its inventory has it. */
function Host({ node }: { node: Row }) {
  const told = useRecord(node)?.inventory?.memory.find((m) => m.kind === "ram");
  const has = node.memory.find((m) => m.name === "host");
  if (!has && told && told.totalMib >= node.memory_mib) {
    return (
      <Figure label="Memory, host" {...inUnit(node.memory_mib, told.totalMib)}>
        <CapacityBar used={node.memory_mib} out={0} total={told.totalMib} />
        <span className={styles.under}>in use, as it says</span>
      </Figure>
    );
  }
  if (!has) {
    const [value, unit] = bytes(node.memory_mib * mib).split(" ");
    return <Figure label="Memory, host" value={value} note={`${unit} in use`} />;
  }
  return (
    <Figure label="Memory, host" {...inUnit(node.memory_mib, has.total)}>
      <CapacityBar used={node.memory_mib} out={0} total={has.total} />
      <span className={styles.under}>{bytes(has.reserved * mib)} reserved</span>
    </Figure>
  );
}

function Domain({ memory }: { memory: Share }) {
  return (
    <Figure label={`Memory, ${memory.name}`} {...inUnit(memory.reserved, memory.total)}>
      <CapacityBar used={memory.reserved} out={0} total={memory.total} />
      <span className={styles.under}>reserved</span>
    </Figure>
  );
}

function Resource({ resource }: { resource: Share }) {
  return (
    <Figure label={resource.name} value={count(resource.reserved)} note={`of ${count(resource.total)}`}>
      <CapacityBar used={resource.reserved} out={0} total={resource.total} />
      <span className={styles.under}>reserved</span>
    </Figure>
  );
}

interface Span {
  state: string;
  from: number;
  to: number;
  cause: string;
}

/** So far back the lease is shown. */
const day = 86_400_000;

/** The changes of a lease as spans up to now, of the last 24 hours. */
function spans(timeline: LeaseChange[], now: number): Span[] {
  return timeline
    .map((c, i) => ({ state: c.state, cause: c.cause, from: Math.max(c.at_ms, now - day), to: Math.max(c.at_ms, timeline[i + 1]?.at_ms ?? now) }))
    .filter((s) => s.to > now - day);
}

function Lease({ node }: { node: Row }) {
  const now = useNow();
  const list = spans(node.timeline, now);
  const first = list[0];
  const whole = first ? Math.max(1, now - first.from) : 1;
  const ready = list.reduce((ms, s) => ms + (s.state === "ready" ? s.to - s.from : 0), 0);
  const breaks = list.filter((s) => s.state !== "ready" && s.state !== "new");
  if (!first) {
    return (
      <Panel title="Lease" flush>
        <Empty title="It never had a session">Its lease begins with its first heartbeat.</Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title="Lease"
      side={
        <span className={styles.legend}>
          <Breaks list={breaks} />
        </span>
      }
      note={`${whole >= day ? "24 h" : duration(whole)}, ready ${((ready / whole) * 100).toFixed(1).replace(".0", "")}%`}
    >
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
      <div className={styles.axis} aria-hidden="true">
        {(whole > 4 * 60_000 ? [0, 0.25, 0.5, 0.75] : [0]).map((part) => (
          <span key={part}>{hourMinute(first.from + part * whole)}</span>
        ))}
        <span>now</span>
      </div>
      <ul className={styles.changes} aria-label="Breaks of the lease">
        {breaks.slice(-6).map((s) => (
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

/** What the colors of the strip stand for, and how often the lease broke. */
function Breaks({ list }: { list: Span[] }) {
  const states = [...new Set(list.map((s) => s.state))];
  return (
    <>
      <span className={styles.count}>
        <Glyph of="ready" size={10} /> ready
      </span>
      {states.map((state) => (
        <span key={state} className={styles.count}>
          <Glyph of={state} size={10} /> {list.filter((s) => s.state === state).length} {state}
        </span>
      ))}
    </>
  );
}

function Session({ node }: { node: Row }) {
  const now = useNow();
  const past = useHistory(node).data;
  const seen = ageOf(node.last_seen_ms, node.received, now);
  const rows: [string, React.ReactNode][] = [
    ["Epoch", node.epoch > 0 ? `${count(node.epoch)}${past?.sessionSince ? `, since ${moment(past.sessionSince)}` : ""}` : "none yet"],
    ["From", node.address ? <code key="a">{node.address}</code> : "unknown"],
    ["Heartbeat", past ? beat(past) : ""],
    ["Suspect after", past ? `${duration(past.suspectMs)} without a frame, lost after ${duration(past.lostMs)}` : ""],
    ["Agent", [node.agent_version, `${node.os} ${node.arch}`.trim()].filter(Boolean).join(", ") || "unknown"],
    ["Spool", node.spooled > 0 ? plural(node.spooled, "result") : "empty"],
  ];
  if (node.skew_ms !== 0) rows.push(["Clock", clockWords(node.skew_ms)]);
  if (!node.accepting) rows.push(["Takes work", `no: ${plainText(declineIn(node.accept_reason))}`]);
  if (!node.healthy) rows.push(["Health", node.health_reasons.join(", ") || "not good"]);
  return (
    <Panel title="Session" side={seen < 0 ? "never seen" : `seen ${age(seen)} ago`}>
      <Facts rows={rows} />
    </Panel>
  );
}

/** every 10s, round trip 14ms */
function beat(past: NodeHistory): string {
  const trip = past.roundTripMs === undefined ? "" : `, round trip ${fine(past.roundTripMs)}`;
  return `every ${duration(past.heartbeatMs)}${trip}`;
}

/** Who holds it, until when; what may be lifted here has a button. */
function Holds({ node }: { node: Row }) {
  const session = useSession();
  const stale = useStale();
  const now = useNow();
  const [lift, setLift] = useState<string | null>(null);
  const elapsed = Math.max(0, now - node.received);
  return (
    <>
      {node.holds.map((h) => (
        <span key={`${h.kind} ${h.owner}`} className={styles.hold}>
          <span>{holdText(h, elapsed)}</span>
          {liftable(h, maySteer(session), isSuperadmin(session)) && (
            <Button tone="link" onPress={() => setLift(h.owner === "operator" ? "" : h.kind)} why={stale ? "No word from the server" : undefined}>
              Lift
            </Button>
          )}
        </span>
      ))}
      {lift !== null && <LiftSheet node={node} kind={lift} onClose={() => setLift(null)} />}
    </>
  );
}

/** The license that it came by, and its seat, for those who may see that. */
function License({ id, seat }: { id: string; seat: Seat | undefined }) {
  return (
    <>
      <code title={id}>{shortId(id)}</code>
      {seat && `, seat ${count(seat.number)} of ${count(seat.of)}`}
    </>
  );
}

/** rotated 12d ago, or since when it has the one that it came with. */
function secretWords(record: NodeDocument, now: number): string {
  if (record.rotating) return "is being changed";
  if (record.rotatedAt) return `rotated ${age(now - Date.parse(record.rotatedAt))} ago`;
  return `never rotated, ${age(now - Date.parse(record.createdAt))} old`;
}

function Identity({ node }: { node: Row }) {
  const now = useNow(60_000);
  const record = useRecord(node);
  const rows: [string, React.ReactNode][] = [
    ["Owner", node.owner ? `user ${node.owner}` : "none"],
    ...(record?.license ? ([["License", <License key="l" id={record.license} seat={record.seat} />]] as [string, React.ReactNode][]) : []),
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
    ...(record ? ([["Secret", secretWords(record, now)]] as [string, React.ReactNode][]) : []),
    ["Runners", node.runners.join(", ") || "none"],
    ["Holds", node.holds.length > 0 ? <Holds key="h" node={node} /> : "none"],
  ];
  if (node.endpoints.length > 0) rows.push(["Endpoints", node.endpoints.map((e) => `${e.n} ${e.v}`).join(", ")]);
  if (node.labels.length > 0) rows.push(["Labels", node.labels.map((l) => `${l.n}=${l.v}`).join(", ")]);
  return (
    <Panel title="Identity">
      <Facts rows={rows} />
    </Panel>
  );
}
