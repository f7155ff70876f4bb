import { Link } from "@tanstack/react-router";
import { count, duration, plural, shortId } from "../format";
import { useNow } from "../live/live";
import { nodeState } from "../state";
import { declineIn } from "../strings";
import { plainText } from "../text";
import { Progress } from "../ui/bars";
import { Empty, Panel } from "../ui/Panel";
import type { NodeWork as Held, NodeRow } from "../wire/messages";
import styles from "./node.module.css";

/** Why nothing runs: what the node itself says comes first. */
function idleWords(node: NodeRow): string {
  const state = nodeState(node);
  if (state === "ready") return "It waits for work of its pool.";
  if (state === "unhealthy" && !node.accepting) return `It takes no work: ${plainText(declineIn(node.accept_reason))}.`;
  return `It is ${state}: no new work comes here.`;
}

/** The attempts that the server holds on the node. */
export function NodeWork({ node }: { node: NodeRow }) {
  const slots = node.running.reduce((n, w) => n + w.slots, 0);
  return (
    <Panel
      title="Running work"
      note={`${plural(node.running.length, "job")}, ${plural(slots, "slot")}`}
      flush
      side={
        <Link to="/jobs" search={{ q: `node:${node.id}` }} className={styles.deskOnly ?? ""} data-link>
          Open as jobs
        </Link>
      }
    >
      {node.running.length === 0 ? (
        <Empty title="Nothing runs here">{idleWords(node)}</Empty>
      ) : (
        <ul className={styles.work}>
          <li className={styles.workHead} aria-hidden="true">
            <span>Job</span>
            <span>App</span>
            <span>Runner</span>
            <span className={styles.number}>Attempt</span>
            <span className={styles.number}>Slots</span>
            <span>Progress</span>
            <span />
            <span className={styles.time}>Running for</span>
          </li>
          {node.running.map((w) => (
            <Attempt key={`${w.job} ${w.attempt}`} work={w} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Attempt({ work: w }: { work: Held }) {
  const now = useNow();
  const said = (words: string) => <span className="visually-hidden">{words} </span>;
  return (
    <li>
      <Link to="/jobs/$id" params={{ id: w.job }} className="mono" title={w.job}>
        {shortId(w.job)}
      </Link>
      <span className={`${styles.what} ${styles.app}`}>
        {said("app")}
        {w.app}
      </span>
      <span className={styles.what}>
        {said("runner")}
        {w.runner}
      </span>
      <span className={styles.number}>
        {said("attempt")}
        {count(w.attempt)}
      </span>
      <span className={`${styles.number} ${styles.slots}`}>
        {said("slots")}
        {count(w.slots)}
      </span>
      <span className={styles.bar}>{w.percent > 0 && <Progress percent={w.percent} />}</span>
      <span className={styles.percent}>{w.phase !== "running" ? w.phase : w.percent > 0 ? `${w.percent}%` : "not told"}</span>
      <span className={styles.time}>{w.started_at > 0 ? duration(now - w.started_at) : ""}</span>
    </li>
  );
}
