import { type ReactNode, useState } from "react";
import { plural } from "../format";
import { useTopic } from "../live/live";
import type { Live } from "../live/store";
import { nodeState } from "../state";
import { byText } from "../table/Table";
import { Field, Segmented } from "../ui/controls";
import { RowBox } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Empty } from "../ui/Panel";
import type { NodeRow, PoolRow } from "../wire/messages";
import { Confirm } from "./Confirm";
import { NewNodeSheet } from "./NewNode";
import { NodesSheet } from "./NodesSheet";
import styles from "./poolpage.module.css";

type Way = "move" | "new";
const ways: [Way, string][] = [
  ["move", "From another pool"],
  ["new", "New node"],
];

/** Nodes come to a pool from another one, or as a new record. */
export function AddToPool({ pool, onClose }: { pool: PoolRow; onClose(): void }) {
  const [way, setWay] = useState<Way>("move");
  const [chosen, setChosen] = useState<Live<NodeRow>[] | null>(null);
  const choice = <Segmented label="How it comes" value={way} options={ways} onChange={setWay} wide />;
  if (chosen) return <NodesSheet act="move" nodes={chosen} to={pool.id} onClose={onClose} />;
  if (way === "new") return <NewNodeSheet pool={pool} ways={choice} onClose={onClose} />;
  return <PickSheet pool={pool} ways={choice} onClose={onClose} onPick={setChosen} />;
}

/** So many are listed; more words in the field make it fewer. */
const most = 50;

interface PickProps {
  pool: PoolRow;
  ways: ReactNode;
  onClose(): void;
  onPick(nodes: Live<NodeRow>[]): void;
}

function PickSheet({ pool, ways, onClose, onPick }: PickProps) {
  const nodes = useTopic("nodes").rows;
  const [words, setWords] = useState("");
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const others = nodes.filter((n) => n.pool !== pool.id && n.lease !== "left").toSorted((a, b) => byText(a.id, b.id));
  const found = others.filter((n) => ids.has(n.id) || `${n.id} ${n.pool} ${n.role} ${n.region}`.toLowerCase().includes(words.trim().toLowerCase()));
  const mark = (id: string, on: boolean) => setIds(new Set(on ? [...ids, id] : [...ids].filter((i) => i !== id)));
  const picked = others.filter((n) => ids.has(n.id));
  return (
    <Sheet
      title={`Add node to ${pool.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text={picked.length > 0 ? `Try ${plural(picked.length, "node")}` : "Try"}
          tone="primary"
          busy={false}
          off={picked.length > 0 ? undefined : "Choose a node"}
          note="A dry run comes next."
          onClose={onClose}
          onConfirm={() => onPick(picked)}
        />
      }
    >
      {ways}
      <Field label="Find" name="find" value={words} onChange={setWords} hint="A part of its id, pool, role or region" />
      {found.length === 0 ? (
        <Empty title={others.length === 0 ? "No node is in another pool" : "No node matches"} />
      ) : (
        <ul className={styles.pick}>
          {found.slice(0, most).map((n) => (
            <li key={n.id}>
              <RowBox label={`Choose ${n.id}`} checked={ids.has(n.id)} onChange={(on) => mark(n.id, on)} />
              <Glyph of={nodeState(n)} label={nodeState(n)} />
              <code>{n.id}</code>
              <small>{n.pool}</small>
            </li>
          ))}
        </ul>
      )}
      {found.length > most && <p className={styles.quiet}>and {plural(found.length - most, "more node")}: say more above.</p>}
    </Sheet>
  );
}
