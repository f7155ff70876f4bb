import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { cordon, moveNode, uncordon } from "../api/calls";
import { count, plural } from "../format";
import { useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { isCordoned, nodeState } from "../state";
import { Button, Field } from "../ui/controls";
import { Menu, Sheet } from "../ui/floating";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { NodeRow, PoolRow } from "../wire/messages";
import styles from "./actions.module.css";
import { ready } from "./pool";

type Row = Live<NodeRow>;
type Open = "cordon" | "move" | null;

/** What can be done to a node; each in a sheet that says what it would do. */
export function NodeActions({ node }: { node: Row }) {
  const session = useSession();
  const stale = useStale();
  const [open, setOpen] = useState<Open>(null);
  const away = stale ? "No word from the server" : undefined;
  const close = () => setOpen(null);
  return (
    <>
      {maySteer(session) && (
        <Button onPress={() => setOpen("cordon")} why={away}>
          {isCordoned(node) ? "Uncordon" : "Cordon"}
        </Button>
      )}
      {isSuperadmin(session) && (
        <Button onPress={() => setOpen("move")} why={away}>
          Move
        </Button>
      )}
      {open === "cordon" && <CordonSheet node={node} onClose={close} />}
      {open === "move" && <MoveSheet node={node} onClose={close} />}
    </>
  );
}

/** The small menu beside them. */
export function NodeMenu({ node }: { node: Row }) {
  const copy = (text: string) => navigator.clipboard?.writeText(text).then(() => toast("Copied."));
  return (
    <Menu
      label="More"
      entries={[
        { id: "id", text: "Copy id", onAction: () => void copy(node.id) },
        { id: "json", text: "Copy as JSON", onAction: () => void copy(JSON.stringify(node, null, 2)) },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

function CordonSheet({ node, onClose }: { node: Row; onClose(): void }) {
  const [lift] = useState(isCordoned(node)); // as it was when the sheet opened
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => (lift ? uncordon(node.id, reason) : cordon(node.id, reason)),
    onSuccess: () => {
      toast(lift ? `${node.id} may take new work again.` : `${node.id} gets no new work.`);
      onClose();
    },
  });
  const free = Math.max(0, node.slots_total - node.slots_used);
  const name = lift ? "Uncordon" : "Cordon";
  return (
    <Sheet
      title={`${name} ${node.id}`}
      open
      onClose={onClose}
      foot={<Confirm text={name} busy={act.isPending} onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <Field label="Reason, kept in the audit log" name="reason" value={reason} onChange={setReason} focus />
      <section className={styles.would}>
        <h3>What this does</h3>
        <ul>
          <li>
            {lift
              ? `${plural(free, "free slot")} can take new work again, from the very next decision on.`
              : `${plural(free, "free slot")} take no new work, from the very next decision on.`}
          </li>
          <li>{node.running.length === 0 ? "Nothing runs there." : `${plural(node.running.length, "job")} run on; their results count.`}</li>
          <li>One audit entry.</li>
        </ul>
      </section>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

function Confirm({ text, busy, off, onClose, onConfirm }: { text: string; busy: boolean; off?: string | undefined; onClose(): void; onConfirm(): void }) {
  const stale = useStale();
  return (
    <>
      <Button onPress={onClose}>Cancel</Button>
      <Button tone="danger" onPress={onConfirm} isDisabled={busy} why={stale ? "No word from the server" : off}>
        {text}
      </Button>
    </>
  );
}

function MoveSheet({ node, onClose }: { node: Row; onClose(): void }) {
  const pools = useTopic("pools");
  const id = useId();
  const others = pools.rows.filter((p) => p.id !== node.pool).toSorted((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  const [to, setTo] = useState("unassigned");
  const [reason, setReason] = useState("");
  const [version] = useState(node.version);
  const act = useMutation({
    mutationFn: () => moveNode(node.id, to, reason, version),
    onSuccess: (moved) => {
      toast(`${moved.node} is in ${moved.to} now.`);
      onClose();
    },
  });
  const changed = node.version !== version ? "The node changed meanwhile: close this and look again" : undefined;
  return (
    <Sheet
      title={`Move ${node.id} out of ${node.pool}`}
      open
      onClose={onClose}
      foot={<Confirm text="Move 1 node" busy={act.isPending} off={act.isPending ? undefined : changed} onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <div className={styles.fields}>
        <div className={styles.field}>
          <label htmlFor={id}>To pool</label>
          <select id={id} value={to} onChange={(e) => setTo(e.target.value)}>
            {others.map((p) => (
              <option key={p.id} value={p.id}>
                {p.id}
              </option>
            ))}
          </select>
        </div>
        <Field label="Reason, kept in the audit log" name="reason" value={reason} onChange={setReason} />
      </div>
      <section className={styles.would}>
        <h3>What this would do</h3>
        <Effect node={node} from={pools.byId.get(node.pool)} to={pools.byId.get(to)} />
        <ul>
          <li>{node.running.length === 0 ? "Nothing runs there." : `${plural(node.running.length, "job")} run on; results count for ${node.pool}.`}</li>
          <li>{to === "unassigned" ? "It stays connected; nothing resolves to unassigned." : `The very next decision in ${to} can use it.`}</li>
          <li>One audit entry.</li>
        </ul>
      </section>
      {changed && <p className={styles.note}>{changed}.</p>}
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

/** Usable nodes and free slots of both pools, before and after. */
function Effect({ node, from, to }: { node: Row; from: PoolRow | undefined; to: PoolRow | undefined }) {
  const usable = nodeState(node) === "ready" ? 1 : 0;
  const free = usable * Math.max(0, node.slots_total - node.slots_used);
  const nodes = (p: PoolRow | undefined) => (p ? ready(p.nodes) : 0);
  const gains = to?.kind === "unassigned" ? 0 : 1; // its slots are out of use there
  return (
    <table className={styles.effect}>
      <thead>
        <tr>
          <th scope="col">Pool</th>
          <th scope="col">Usable nodes</th>
          <th scope="col">Free slots</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">{from?.id ?? node.pool}</th>
          <Change before={nodes(from)} after={nodes(from) - usable} />
          <Change before={from?.slots_free ?? 0} after={Math.max(0, (from?.slots_free ?? 0) - free)} />
        </tr>
        {to && (
          <tr>
            <th scope="row">{to.id}</th>
            <Change before={gains ? nodes(to) : 0} after={gains ? nodes(to) + usable : 0} />
            <Change before={to.slots_free} after={to.slots_free + free * gains} />
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Change({ before, after }: { before: number; after: number }) {
  return (
    <td>
      {count(before)} → <b>{count(Math.max(0, after))}</b>
    </td>
  );
}
