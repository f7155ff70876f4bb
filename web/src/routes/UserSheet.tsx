import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Grant, User } from "../api/documents";
import { setRoles } from "../api/users";
import { useTopic } from "../live/live";
import { Button, Field, IconButton } from "../ui/controls";
import { Check, Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import { Confirm, reasonLabel } from "./Confirm";
import { byPlace } from "./pool";
import styles from "./users.module.css";

const fleetRoles = [
  ["superadmin", "everything"],
  ["operator", "watches all, cordons, drains, acknowledges"],
  ["viewer", "watches all"],
  ["user", "own apps, jobs, nodes and licenses"],
] as const;

/** A user's roles; saving them ends the user's console sessions. */
export function UserSheet({ user, onClose }: { user: User; onClose(): void }) {
  const queries = useQueryClient();
  const [roles, setList] = useState(user.roles);
  const [grants, setGrants] = useState(user.grants);
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => setRoles(user.id, { roles, grants, ...(reason && { reason }) }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["users"] });
      toast(`The roles of ${user.name} are changed.`);
      onClose();
    },
  });
  const toggle = (role: string, on: boolean) => setList(on ? [...roles, role] : roles.filter((r) => r !== role));
  return (
    <Sheet
      title={`Roles of ${user.name}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text="Save roles"
          tone="primary"
          busy={act.isPending}
          off={roles.length + grants.length === 0 ? "A user needs a role" : undefined}
          note="Ends the user's sessions. One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <section className={styles.part}>
        <h3>For the whole fleet</h3>
        {fleetRoles.map(([role, says]) => (
          <Check key={role} checked={roles.includes(role)} onChange={(on) => toggle(role, on)}>
            {role} <span className={styles.quiet}>{says}</span>
          </Check>
        ))}
      </section>
      <Grants grants={grants} onChange={setGrants} />
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

const poolRoles = [
  ["operator", "operator"],
  ["viewer", "viewer"],
] as const;

/** Roles for single pools: their holder sees these and nothing of the others. */
function Grants({ grants, onChange }: { grants: Grant[]; onChange(grants: Grant[]): void }) {
  const pools = useTopic("pools").rows.toSorted(byPlace);
  const [role, setRole] = useState("viewer");
  const [pool, setPool] = useState("default");
  const same = (g: Grant) => g.role === role && g.pool === pool;
  return (
    <section className={styles.part}>
      <h3>For single pools</h3>
      <ul className={styles.grants}>
        {grants.map((g) => (
          <li key={`${g.role} ${g.pool}`}>
            <span>
              {g.role} of <b>{g.pool}</b>
            </span>
            <IconButton icon="close" label={`Take ${g.role} of ${g.pool} away`} onPress={() => onChange(grants.filter((o) => o !== g))} />
          </li>
        ))}
      </ul>
      <div className={styles.add}>
        <Select label="Role" value={role} options={poolRoles} onChange={setRole} />
        <Select label="Pool" value={pool} options={pools.map((p) => [p.id, p.id] as const)} onChange={setPool} />
        <Button onPress={() => onChange([...grants, { role, pool }])} why={grants.some(same) ? "It is there already" : undefined}>
          Grant
        </Button>
      </div>
    </section>
  );
}
