import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { age, count, plural } from "../format";
import { useNow } from "../live/live";
import type { Live } from "../live/store";
import { maySteer, useSession } from "../session";
import { holdText, nodeState, nodeStates, outOfUse } from "../state";
import { useOrder } from "../table/order";
import { type Select, useSelect } from "../table/select";
import { byText } from "../table/Table";
import { CapacityBar } from "../ui/bars";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { NodeRow } from "../wire/messages";
import { ageOf } from "./Nodes";
import { NodesBulk } from "./NodesBulk";
import styles from "./poolpage.module.css";

type Row = Live<NodeRow>;

/** So many rows are drawn; all of them stand in Nodes. */
const most = 40;

export interface PoolNodesProps {
  pool: string;
  nodes: Row[];
  loading: boolean;
}

/** A pool's nodes, live; what is selected can be moved, drained or cordoned together. */
export function PoolNodes({ pool, nodes, loading }: PoolNodesProps) {
  const session = useSession();
  const [touched, setTouched] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const shown = useOrder(nodes, "state", byState, touched || selected.size > 0).slice(0, most);
  const select = useSelect(shown, maySteer(session) ? { ids: selected, onChange: setSelected } : undefined);
  const chosen = shown.filter((n) => selected.has(n.id));
  return (
    <Panel
      title="Nodes"
      note={loading ? undefined : [count(nodes.length), ...(chosen.length > 0 ? [`${count(chosen.length)} selected`] : [])].join(", ")}
      flush
      side={
        <Link to="/nodes" search={{ q: `pool:${pool}` }} data-link>
          Show all
        </Link>
      }
    >
      {loading ? (
        <div className={styles.pad}>
          <Gray lines={5} wide={480} />
        </div>
      ) : nodes.length === 0 ? (
        <None pool={pool} />
      ) : (
        <table className={styles.nodes} onPointerEnter={() => setTouched(true)} onPointerLeave={() => setTouched(false)} onKeyDown={select?.onKeyDown}>
          <caption className="visually-hidden">Nodes of {pool}</caption>
          <thead>
            <tr>
              {select && <th scope="col">{select.head}</th>}
              <th scope="col">State</th>
              <th scope="col">Node</th>
              <th scope="col">Backend</th>
              <th scope="col">Slots</th>
              <th scope="col" data-number>
                Running
              </th>
              <th scope="col" data-number>
                Seen
              </th>
              <th scope="col">Hold</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((n) => (
              <Line key={n.id} node={n} select={select} />
            ))}
          </tbody>
        </table>
      )}
      {nodes.length > most && (
        <Link to="/nodes" search={{ q: `pool:${pool}` }} className={styles.rest ?? ""} data-link>
          and {plural(nodes.length - shown.length, "more node")}
        </Link>
      )}
      <NodesBulk rows={chosen} onClear={() => setSelected(new Set())} />
    </Panel>
  );
}

/** The states in the order of their chips, then by id. */
function byState(a: Row, b: Row): number {
  return nodeStates.indexOf(nodeState(a)) - nodeStates.indexOf(nodeState(b)) || byText(a.id, b.id);
}

function Line({ node: n, select }: { node: Row; select: Select | undefined }) {
  const now = useNow();
  const seen = ageOf(n.last_seen_ms, n.received, now);
  const holds = n.holds.map(holdText).join("; ");
  return (
    <tr data-selected={select?.has(n.id) || undefined} data-row={n.id}>
      {select && <td>{select.box(n.id)}</td>}
      <td>
        <span className={styles.deskOnly}>
          <State of={nodeState(n)} />
        </span>
        <span className={styles.phoneOnly}>
          <Glyph of={nodeState(n)} label={nodeState(n)} />
        </span>
      </td>
      <th scope="row">
        <Link to="/nodes/$id" params={{ id: n.id }} className="mono">
          {n.id}
        </Link>
      </th>
      <td>{n.backend}</td>
      <td>
        <span className={styles.slots} data-figures>
          <CapacityBar thin used={n.slots_used} out={outOfUse(n)} total={n.slots_total} />
          {n.slots_used}/{n.slots_total}
        </span>
      </td>
      <td data-number>{count(n.running.length)}</td>
      <td data-number>{seen < 0 ? "never" : age(seen)}</td>
      <td title={holds || undefined}>{holds}</td>
    </tr>
  );
}

function None({ pool }: { pool: string }) {
  if (pool === "unassigned") return <Empty title="No node is set aside">A node that is moved here stays connected and gets no work.</Empty>;
  return <Empty title="No node is in this pool">Add one, or move one here from another pool: until then its work waits.</Empty>;
}
