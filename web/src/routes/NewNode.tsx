import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { moveNode } from "../api/calls";
import type { NewNode } from "../api/documents";
import { createNode, listRoles } from "../api/pools";
import { Button, Copy, Field } from "../ui/controls";
import { Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { PoolRow } from "../wire/messages";
import { Confirm } from "./Confirm";
import styles from "./poolpage.module.css";
import { wholeNumber } from "./thresholds";

/** A new node's record in this pool, and the secret with which its agent comes. */
export function NewNodeSheet({ pool, ways, onClose }: { pool: PoolRow; ways?: ReactNode; onClose(): void }) {
  const roles = useQuery({ queryKey: ["roles"], queryFn: listRoles });
  const [id, setId] = useState("");
  const [role, setRole] = useState("worker");
  const [slots, setSlots] = useState("");
  const act = useMutation({
    mutationFn: () => create(pool, id, role, wholeNumber(slots) ?? 0),
    onSuccess: (node) => toast(`${node.id} has a record in ${pool.id}.`),
  });
  const named = /^[a-z0-9][a-z0-9-]{0,62}$/.test(id);
  const off = named ? (slots === "" || wholeNumber(slots) !== undefined ? undefined : "Slots is a whole number") : "It needs a name";
  if (act.data) return <Secret node={act.data} onClose={onClose} />;
  return (
    <Sheet
      title={`Add node to ${pool.id}`}
      open
      onClose={onClose}
      foot={<Confirm text="Create node" tone="primary" busy={act.isPending} off={off} onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      {ways}
      <p>{owned(pool)}</p>
      <Field
        label="Name"
        name="id"
        value={id}
        onChange={setId}
        focus
        error={id === "" || named ? undefined : "Lower case letters, digits and dashes, up to 63"}
      />
      <div className={styles.fields}>
        <Select label="Role" value={role} options={(roles.data?.items ?? [{ name: "worker" }]).map((r) => [r.name, r.name] as const)} onChange={setRole} />
        <Field label="Slots at most" name="slots" value={slots} onChange={setSlots} hint="Empty: as many as it says" />
      </div>
      {(act.error ?? roles.error) && <Failed error={act.error ?? roles.error} />}
    </Sheet>
  );
}

const userOf = (pool: PoolRow) => (pool.kind === "user" ? pool.id.replace("pool-", "") : undefined);

function owned(pool: PoolRow): string {
  const user = userOf(pool);
  return user ? `The node belongs to user ${user} and starts in ${pool.id}.` : `The node has no owner and is in ${pool.id} before it comes.`;
}

/** A record without an owner begins in default; from there it is moved before anybody has its secret. */
async function create(pool: PoolRow, id: string, role: string, maxSlots: number): Promise<NewNode> {
  const owner = userOf(pool);
  const node = await createNode({ id, role, ...(owner && { owner }), ...(maxSlots > 0 && { maxSlots }) });
  if (node.pool !== pool.id) await moveNode(node.id, pool.id, "created for it", node.version);
  return node;
}

function Secret({ node, onClose }: { node: NewNode; onClose(): void }) {
  return (
    <Sheet
      title={`Secret of ${node.id}`}
      open
      onClose={onClose}
      foot={
        <Button tone="primary" onPress={onClose}>
          Done
        </Button>
      }
    >
      <div className={styles.secret}>
        <code>{node.secret}</code>
        <Copy text={node.secret} label="Copy the secret">
          Copy
        </Copy>
      </div>
      <p>
        <Glyph of="warning" size={10} /> Shown once. Only its hash is stored; the secret can be rotated if it is lost.
      </p>
      <p>
        Put it into the file <code>secret</code> of the agent's state folder, readable by the agent alone, set <code>node_id</code> to {node.id}, and start the
        agent: the node is here with its first heartbeat.
      </p>
    </Sheet>
  );
}
