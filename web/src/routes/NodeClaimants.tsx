import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getNode, repairNode, rotateNode } from "../api/calls";
import type { Claimant, Node } from "../api/documents";
import { moment, plural, shortDigest } from "../format";
import { useStale } from "../live/live";
import { maySteer, useSession } from "../session";
import { Button, Field } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { NodeRow } from "../wire/messages";
import styles from "./actions.module.css";
import { Confirm, reasonLabel } from "./Confirm";
import claims from "./nodeclaimants.module.css";

/** Who says that it is the node, while that is more than one; and what is done about it. */

/** Whether the node is held because two processes have its identity. */
export const quarantined = (node: NodeRow) => node.holds.some((h) => h.kind === "quarantine");

export function NodeClaimants({ node }: { node: NodeRow }) {
  return quarantined(node) ? <Claimants node={node} /> : null;
}

function Claimants({ node }: { node: NodeRow }) {
  const session = useSession();
  const stale = useStale();
  const [keep, setKeep] = useState<Claimant | null>(null);
  const record = useQuery({
    queryKey: ["node-claimants", node.id, node.version, node.epoch],
    queryFn: () => getNode(node.id),
    enabled: !stale,
    refetchInterval: stale ? false : 5_000,
    placeholderData: (old) => old,
  });
  const list = record.data?.claimants ?? [];
  return (
    <Panel title="Claimants" note="one of them is the node" flush>
      {record.error && !record.data ? (
        <Failed error={record.error} again={() => void record.refetch()} />
      ) : !record.data ? (
        <div className={claims.pad}>
          <Gray lines={2} wide={320} />
        </div>
      ) : list.length === 0 ? (
        <Empty title="None has come since">The next one that says it is this node is listed here.</Empty>
      ) : (
        <ul className={claims.list}>
          {list.map((c) => (
            <li key={c.id}>
              <Line claimant={c} of={record.data} />
              {maySteer(session) && (
                <Button onPress={() => setKeep(c)} why={c.id === record.data.keep ? "It is chosen" : stale ? "No word from the server" : undefined}>
                  Keep
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {keep && record.data && <RepairSheet node={record.data} keep={keep} onClose={() => setKeep(null)} />}
    </Panel>
  );
}

/** One claimant: where it is, what tells it from others, and what becomes of it. */
function Line({ claimant: c, of }: { claimant: Claimant; of: Node }) {
  const chosen = c.id === of.keep;
  return (
    <div className={claims.claimant}>
      <span>
        <Glyph of={c.holder ? "ready" : "lost"} /> <code>{c.address ?? "unknown"}</code>
        <b>{chosen ? "chosen: waits for its next session" : c.holder ? "has the newest state" : "refused: has older state"}</b>
      </span>
      <span className={claims.facts}>
        {[
          c.id,
          c.machineId && `machine ${shortDigest(c.machineId)}`,
          c.bootId && `process ${c.bootId.slice(0, 8)}`,
          c.agentVersion && `agent ${c.agentVersion}`,
          `came ${moment(c.seenAt)}`,
        ]
          .filter(Boolean)
          .join(", ")}
      </span>
    </div>
  );
}

function RepairSheet({ node, keep, onClose }: { node: Node; keep: Claimant; onClose(): void }) {
  const [reason, setReason] = useState("");
  const others = (node.claimants ?? []).filter((c) => c.id !== keep.id);
  const act = useMutation({
    mutationFn: () => repairNode(node.id, keep.id, reason, node.version),
    onSuccess: () => {
      toast(`${keep.address ?? keep.id} is ${node.id}; it gets another secret with its next session.`);
      onClose();
    },
  });
  return (
    <Sheet
      title={`Keep ${keep.id} as ${node.id}`}
      open
      onClose={onClose}
      foot={<Confirm text="Keep this one" busy={act.isPending} note="One audit entry." onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} focus />
      <section className={styles.would}>
        <h3>What this does</h3>
        <ul>
          <li>{`${keep.address ?? keep.id} gets another secret with its next session, within about a minute; then the quarantine ends.`}</li>
          <li>
            {others.length === 0
              ? "Nobody else has come so far; whoever does is refused."
              : `${plural(others.length, "other claimant")} (${others.map((c) => c.address ?? c.id).join(", ")}): refused for good. Remove the state directory there, and it registers as a new node.`}
          </li>
        </ul>
      </section>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

/** Changes the node's secret. */
export function RotateSheet({ node, onClose }: { node: NodeRow; onClose(): void }) {
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => rotateNode(node.id, reason, node.version),
    onSuccess: () => {
      toast(`${node.id} was asked for another secret.`);
      onClose();
    },
  });
  return (
    <Sheet
      title={`Change the secret of ${node.id}`}
      open
      onClose={onClose}
      foot={<Confirm text="Change it" tone="primary" busy={act.isPending} note="One audit entry." onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} focus />
      <section className={styles.would}>
        <h3>What this does</h3>
        <ul>
          <li>The node makes another secret by itself and dials anew with it; what runs there goes on.</li>
          <li>The old one is good until then, and for nothing afterwards. A node that is away is asked when it is back.</li>
        </ul>
      </section>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
