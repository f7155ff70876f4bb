import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { age, count, plural } from "../format";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { holdText, nodeState, nodeStates, outOfUse } from "../state";
import { useOrder } from "../table/order";
import { byText } from "../table/Table";
import { CapacityBar } from "../ui/bars";
import { Button } from "../ui/controls";
import { RowBox } from "../ui/fields";
import { State } from "../ui/Glyph";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { NodeRow } from "../wire/messages";
import { ageOf } from "./Nodes";
import styles from "./poolpage.module.css";

type Row = Live<NodeRow>;

/** So many rows are drawn; all of them stand in Nodes. */
const most = 40;

export interface PoolNodesProps {
  pool: string;
  nodes: Row[];
  loading: boolean;
  selected: ReadonlySet<string>;
  onSelect(ids: ReadonlySet<string>): void;
  /** Opens the sheet for what is selected; without it nothing can be. */
  onAct?(what: "move" | "drain" | "cordon"): void;
}

/** A pool's nodes, live; what is selected can be moved, drained or cordoned together. */
export function PoolNodes({ pool, nodes, loading, selected, onSelect, onAct }: PoolNodesProps) {
  const session = useSession();
  const [touched, setTouched] = useState(false);
  const frozen = touched || selected.size > 0;
  const shown = useOrder(nodes, "state", byState, frozen).slice(0, most);
  const chosen = shown.filter((n) => selected.has(n.id)).length;
  const steer = maySteer(session) && onAct !== undefined;
  const mark = (id: string, on: boolean) => onSelect(new Set(on ? [...selected, id] : [...selected].filter((s) => s !== id)));
  return (
    <Panel
      title="Nodes"
      note={loading ? undefined : `${count(nodes.length)}${selected.size > 0 ? `  ${count(selected.size)} selected` : ""}`}
      flush
      side={
        <>
          {selected.size > 0 && onAct && <Acts onAct={onAct} mayMove={isSuperadmin(session)} />}
          <Link to="/nodes" search={{ q: `pool:${pool}` }} data-link>
            Show all
          </Link>
        </>
      }
    >
      {loading ? (
        <div className={styles.pad}>
          <Gray lines={5} wide={480} />
        </div>
      ) : nodes.length === 0 ? (
        <None pool={pool} />
      ) : (
        <table className={styles.nodes} onPointerEnter={() => setTouched(true)} onPointerLeave={() => setTouched(false)}>
          <caption className="visually-hidden">Nodes of {pool}</caption>
          <thead>
            <tr>
              {steer && (
                <th scope="col">
                  <RowBox
                    label={`All ${count(shown.length)} nodes shown`}
                    checked={chosen === shown.length}
                    some={chosen > 0}
                    onChange={(on) => onSelect(new Set(on ? shown.map((n) => n.id) : []))}
                  />
                </th>
              )}
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
              <Line key={n.id} node={n} {...(steer && { selected: selected.has(n.id), onMark: (on: boolean) => mark(n.id, on) })} />
            ))}
          </tbody>
        </table>
      )}
      {nodes.length > most && (
        <Link to="/nodes" search={{ q: `pool:${pool}` }} className={styles.rest ?? ""} data-link>
          and {plural(nodes.length - shown.length, "more node")}
        </Link>
      )}
    </Panel>
  );
}

/** The states in the order of their chips, then by id. */
function byState(a: Row, b: Row): number {
  return nodeStates.indexOf(nodeState(a)) - nodeStates.indexOf(nodeState(b)) || byText(a.id, b.id);
}

function Acts({ onAct, mayMove }: { onAct: NonNullable<PoolNodesProps["onAct"]>; mayMove: boolean }) {
  const why = useStale() ? "No word from the server" : undefined;
  return (
    <span className={styles.acts}>
      {mayMove && (
        <Button small onPress={() => onAct("move")} why={why}>
          Move
        </Button>
      )}
      <Button small onPress={() => onAct("drain")} why={why}>
        Drain
      </Button>
      <Button small onPress={() => onAct("cordon")} why={why}>
        Cordon
      </Button>
    </span>
  );
}

function Line({ node: n, selected, onMark }: { node: Row; selected?: boolean; onMark?(on: boolean): void }) {
  const now = useNow();
  const seen = ageOf(n.last_seen_ms, n.received, now);
  const holds = n.holds.map(holdText).join("; ");
  return (
    <tr data-selected={selected || undefined} data-node={n.id}>
      {onMark && (
        <td>
          <RowBox label={`Select ${n.id}`} checked={Boolean(selected)} onChange={onMark} />
        </td>
      )}
      <td>
        <State of={nodeState(n)} />
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
