import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { leaveNode, revokeNode, uncordon } from "../api/calls";
import { plural } from "../format";
import { useStale } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, maySteer, useSession } from "../session";
import { operatorHolds } from "../state";
import { Button, Field } from "../ui/controls";
import { Menu, type MenuEntry, Sheet } from "../ui/floating";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { NodeRow, RowHold } from "../wire/messages";
import styles from "./actions.module.css";
import { Confirm, reasonLabel } from "./Confirm";
import { quarantined, RotateSheet } from "./NodeClaimants";
import { NodesSheet } from "./NodesSheet";
import type { NodeAct } from "./nodeact";

type Row = Live<NodeRow>;

/** What can be done to a node; each in a sheet that says what it would do. */
export function NodeActions({ node }: { node: Row }) {
  const session = useSession();
  const stale = useStale();
  const [open, setOpen] = useState<NodeAct | "lift" | null>(null);
  const away = stale ? "No word from the server" : undefined;
  const close = () => setOpen(null);
  const held = operatorHolds(node);
  const left = node.lease === "left" ? "It has left" : away;
  if (!maySteer(session)) return null;
  return (
    <>
      {held.length > 0 ? (
        <Button onPress={() => setOpen("lift")} why={away}>
          Uncordon
        </Button>
      ) : (
        <Button onPress={() => setOpen("cordon")} why={left}>
          Cordon
        </Button>
      )}
      {!held.some((h) => h.kind === "drain") && (
        <Button onPress={() => setOpen("drain")} why={left}>
          Drain
        </Button>
      )}
      {isSuperadmin(session) && (
        <Button onPress={() => setOpen("move")} why={left}>
          Move
        </Button>
      )}
      {open === "lift" && <LiftSheet node={node} kind="" onClose={close} />}
      {open && open !== "lift" && <NodesSheet act={open} nodes={[node]} onClose={close} />}
    </>
  );
}

/** The small menu beside them. */
export function NodeMenu({ node }: { node: Row }) {
  const session = useSession();
  const stale = useStale();
  const [end, setEnd] = useState<End | null>(null);
  const [rotates, setRotates] = useState(false);
  const copy = (text: string) => navigator.clipboard?.writeText(text).then(() => toast("Copied."));
  const entries: MenuEntry[] = [
    { id: "id", text: "Copy id", onAction: () => void copy(node.id) },
    { id: "json", text: "Copy as JSON", onAction: () => void copy(JSON.stringify(node, null, 2)) },
  ];
  if (maySteer(session)) {
    const off = stale || node.lease === "left" || quarantined(node);
    entries.push({ id: "rotate", text: "Change its secret", onAction: () => setRotates(true), off });
  }
  if (isSuperadmin(session)) {
    entries.push({ id: "revoke", text: "Revoke its secret", onAction: () => setEnd("revoke"), off: stale });
    entries.push({ id: "leave", text: "Remove from the fleet", onAction: () => setEnd("leave"), off: stale || node.lease === "left" });
  }
  return (
    <>
      <Menu label="More" entries={entries}>
        <Icon name="more" />
      </Menu>
      {rotates && <RotateSheet node={node} onClose={() => setRotates(false)} />}
      {end && <EndSheet node={node} end={end} onClose={() => setEnd(null)} />}
    </>
  );
}

/** Whether this hold is lifted in the console: an operator's by those who steer, others by superadmins; a node's own ends with its next session. */
export const liftable = (hold: RowHold, steer: boolean, superadmin: boolean) => (hold.owner === "operator" ? steer : hold.owner === "auto" && superadmin);

/** Lifts a hold of that kind; empty: the operator's own. */
export function LiftSheet({ node, kind, onClose }: { node: Row; kind: string; onClose(): void }) {
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => uncordon(node.id, kind, reason),
    onSuccess: () => {
      toast(others ? `A hold of ${node.id} is lifted; another stands.` : `${node.id} may take new work again.`);
      onClose();
    },
  });
  const others = node.holds.some((h) => (kind ? h.kind !== kind : h.owner !== "operator"));
  const free = Math.max(0, node.slots_total - node.slots_used);
  const name = kind ? `Lift ${kind === "auto" ? "the automatic hold" : kind}` : "Uncordon";
  return (
    <Sheet
      title={kind ? `${name} of ${node.id}` : `${name} ${node.id}`}
      open
      onClose={onClose}
      foot={<Confirm text={name} tone="primary" busy={act.isPending} note="One audit entry." onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} focus />
      <section className={styles.would}>
        <h3>What this does</h3>
        <ul>
          <li>
            {others
              ? "Another hold stands: it still gets no new work."
              : `${plural(free, "free slot")} can take new work again, from the very next decision on.`}
          </li>
        </ul>
      </section>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

type End = "revoke" | "leave";

const endWords: Record<End, { title: string; says: string[]; done: string }> = {
  revoke: {
    title: "Revoke the secret of",
    says: ["Its session ends at once, and it can't come back with this secret.", "Its place stays: a new enrollment token for this id lets it in again."],
    done: "can't come back with its secret",
  },
  leave: {
    title: "Remove",
    says: ["Its session ends at once and its secret is void.", "Its id and its seat of the license are free again; its history stays."],
    done: "has left",
  },
};

/** What ends a node is agreed to by typing its id. */
function EndSheet({ node, end, onClose }: { node: Row; end: End; onClose(): void }) {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const words = endWords[end];
  const act = useMutation({
    mutationFn: () => (end === "revoke" ? revokeNode(node.id, reason) : leaveNode(node.id, reason)),
    onSuccess: () => {
      toast(`${node.id} ${words.done}.`);
      onClose();
    },
  });
  return (
    <Sheet
      title={`${words.title} ${node.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text={end === "revoke" ? "Revoke" : "Remove"}
          busy={act.isPending}
          off={typed === node.id ? undefined : `Type ${node.id}`}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} focus />
      <section className={styles.would}>
        <h3>What this does</h3>
        <ul>
          {words.says.map((line) => (
            <li key={line}>{line}</li>
          ))}
          <li>
            {node.running.length === 0
              ? "Nothing runs there."
              : `${plural(node.running.length, "job")} there: handled as a lost node's, placed anew in ${node.pool} or failed as each asked for.`}
          </li>
        </ul>
      </section>
      <Field label={`Type ${node.id} to confirm`} name="typed" value={typed} onChange={setTyped} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
