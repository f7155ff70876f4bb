import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { getNodeHistory } from "../api/calls";
import type { NodeDecision, NodeHistory, NodeLogLine } from "../api/documents";
import { count, hourMinute, moment, shortId } from "../format";
import { useStale } from "../live/live";
import { plainText } from "../text";
import { Button } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import type { NodeRow } from "../wire/messages";
import styles from "./nodepast.module.css";

/** What the server remembers of a node: why it was chosen or not, and what happened on it. */

/** Read anew when the node's work, lease or holds change, and every 5 s. */
export function useHistory(node: NodeRow) {
  const stale = useStale();
  const work = node.running.map((w) => `${w.job} ${w.attempt}`).join();
  return useQuery({
    queryKey: ["node-history", node.id, node.version, node.lease, node.epoch, work],
    queryFn: () => getNodeHistory(node.id),
    enabled: !stale,
    refetchInterval: stale ? false : 5_000,
    placeholderData: (old) => old,
  });
}

/** So many stand in the panels; the log has a sheet for the rest. */
const shownDecisions = 6;
const shownLines = 8;

/** All 214 in 24 h, or since when the server started. */
export function allChosen({ at, chosen, chosenSince }: Pick<NodeHistory, "at" | "chosen" | "chosenSince">): string {
  const since = Date.parse(chosenSince);
  return `All ${count(chosen)} ${Date.parse(at) - since >= 86_400_000 ? "in 24 h" : `since ${hourMinute(since)}`}`;
}

export function NodeDecisions({ node }: { node: NodeRow }) {
  const past = useHistory(node);
  const list = past.data?.decisions;
  return (
    <Panel
      title="Decisions"
      note="that chose or rejected this node"
      flush
      side={
        past.data &&
        past.data.chosen > 0 && (
          <Link to="/jobs" search={{ q: `node:${node.id}` }} data-link title="All jobs that were placed here">
            {allChosen(past.data)}
          </Link>
        )
      }
    >
      {past.error && !list ? (
        <Failed error={past.error} again={() => void past.refetch()} />
      ) : !list ? (
        <div className={styles.pad}>
          <Gray lines={3} wide={320} />
        </div>
      ) : list.length === 0 ? (
        <Empty title="None since the server started">No work was placed here, and none waits for its pool.</Empty>
      ) : (
        <Decisions list={list.slice(0, shownDecisions)} />
      )}
    </Panel>
  );
}

function Decisions({ list }: { list: NodeDecision[] }) {
  return (
    <ul className={styles.decisions}>
      <li className={styles.head} aria-hidden="true">
        <span>At</span>
        <span>Outcome</span>
        <span>Job</span>
        <span>App</span>
        <span>Reason</span>
      </li>
      {list.map((d) => (
        <li key={`${d.at ?? "now"} ${d.job}`}>
          {d.at ? <time dateTime={d.at}>{moment(d.at)}</time> : <span className={styles.quiet}>now</span>}
          <span className={styles.outcome}>
            <Glyph of={d.outcome === "chosen" ? "succeeded" : "declined"} /> {d.outcome}
          </span>
          <Link to="/jobs/$id" params={{ id: d.job }} className="mono" title={d.job}>
            {shortId(d.job)}
          </Link>
          <span className={styles.app}>{d.app}</span>
          <span className={styles.reason}>{d.reason}</span>
        </li>
      ))}
    </ul>
  );
}

export function NodeLog({ node }: { node: NodeRow }) {
  const past = useHistory(node);
  const [open, setOpen] = useState(false);
  const log = past.data?.log;
  const more = log && log.length > shownLines;
  return (
    <Panel
      title="Log"
      note="newest first"
      flush
      side={
        more && (
          <Button tone="link" onPress={() => setOpen(true)}>
            Open
          </Button>
        )
      }
    >
      {past.error && !log ? (
        <Failed error={past.error} again={() => void past.refetch()} />
      ) : !log ? (
        <div className={styles.pad}>
          <Gray lines={4} wide={280} />
        </div>
      ) : log.length === 0 ? (
        <Empty title="Nothing since the server started" />
      ) : (
        <Lines list={log.slice(0, shownLines)} />
      )}
      <Sheet title={`Log of ${node.id}`} open={open} onClose={() => setOpen(false)}>
        <Lines list={log ?? []} whole />
      </Sheet>
    </Panel>
  );
}

/** Ids of jobs are cut as everywhere; the whole line stands in its tooltip. */
const short = (text: string) => plainText(text).replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, (id) => shortId(id));

function Lines({ list, whole }: { list: NodeLogLine[]; whole?: boolean }) {
  return (
    <ol className={`${styles.log} ${whole ? styles.whole : ""}`}>
      {list.map((l) => (
        <li key={`${l.at} ${l.text}`} title={plainText(l.text)}>
          <time dateTime={l.at}>{moment(l.at)}</time> {short(l.text)}
        </li>
      ))}
    </ol>
  );
}
