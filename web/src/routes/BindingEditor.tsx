import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AppBindings, Binding } from "../api/documents";
import { listRoles, putBinding } from "../api/pools";
import { useStale, useTopic } from "../live/live";
import { Button, Field, IconButton } from "../ui/controls";
import { Check, Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import styles from "./apps.module.css";
import { everyRole, mostPools, roleWords, shifted } from "./binding";
import { reasonLabel } from "./Confirm";
import { byPlace } from "./pool";

/** One role's pools in the order in which they are tried, and whether default may help out. */
export function BindingEditor({ app, binding, onBack, onClose }: { app: AppBindings; binding: Binding; onBack(): void; onClose(): void }) {
  const queries = useQueryClient();
  const roles = useQuery({ queryKey: ["roles"], queryFn: listRoles });
  const stale = useStale();
  const [version] = useState(app.version);
  const [role, setRole] = useState(binding.role);
  const [pools, setPools] = useState(binding.pools);
  const [fallback, setFallback] = useState(binding.allowFallbackToDefault);
  const [reason, setReason] = useState("");
  const made = binding.pools.length > 0;
  const act = useMutation({
    mutationFn: (list: string[]) => putBinding(app.app, { role, pools: list, allowFallbackToDefault: fallback, ...(reason && { reason }) }, version),
    onSuccess: (next, list) => {
      queries.setQueryData(["bindings", app.app], next);
      void queries.invalidateQueries({ queryKey: ["bindings"] });
      void queries.invalidateQueries({ queryKey: ["alignment"] });
      toast(list.length > 0 ? `Work of ${app.app} for ${roleWords(role)} goes to ${list.join(", then ")}.` : `The binding of ${app.app} is gone.`);
      onBack();
    },
  });
  const known = roles.data?.items.map((r) => [r.name, r.name] as const) ?? [];
  const why = stale ? "No word from the server" : undefined;
  const foot = (
    <>
      {made && (
        <span className={styles.remove}>
          <Button tone="danger" onPress={() => act.mutate([])} isDisabled={act.isPending} why={why}>
            Remove binding
          </Button>
        </span>
      )}
      <Button onPress={onBack}>Back</Button>
      <Button tone="primary" onPress={() => act.mutate(pools)} isDisabled={act.isPending} why={why ?? (pools.length === 0 ? "It needs a pool" : undefined)}>
        Save binding
      </Button>
    </>
  );
  return (
    <Sheet title={`Binding of ${app.app}`} open onClose={onClose} foot={foot}>
      {made ? (
        <p>For {roleWords(role)}.</p>
      ) : (
        <Select
          label="For work of"
          value={role}
          options={[["", everyRole], ...known]}
          onChange={setRole}
          hint="A binding for one role wins over the one for every role"
        />
      )}
      <PoolOrder pools={pools} onChange={setPools} />
      <Check checked={fallback} onChange={setFallback}>
        Allow fallback to default. <span className={styles.quiet}>It crosses the isolation of its pools; each time is recorded.</span>
      </Check>
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

function PoolOrder({ pools, onChange }: { pools: string[]; onChange(pools: string[]): void }) {
  const rows = useTopic("pools").rows;
  const left = rows.filter((p) => p.kind !== "unassigned" && !pools.includes(p.id)).toSorted(byPlace);
  return (
    <section className={styles.part}>
      <h3>Pools, in the order in which they are tried</h3>
      <ol className={styles.order}>
        {pools.map((id, i) => (
          <li key={id}>
            <span>{i + 1}</span>
            <b>{id}</b>
            <IconButton icon="up" label={`${id} earlier`} isDisabled={i === 0} onPress={() => onChange(shifted(pools, i, -1))} />
            <IconButton icon="down" label={`${id} later`} isDisabled={i === pools.length - 1} onPress={() => onChange(shifted(pools, i, 1))} />
            <IconButton icon="close" label={`Leave ${id} out`} onPress={() => onChange(pools.filter((p) => p !== id))} />
          </li>
        ))}
      </ol>
      {pools.length < mostPools && (
        <Select
          label="Add a pool"
          value=""
          options={[["", "choose one"], ...left.map((p) => [p.id, p.id] as const)]}
          onChange={(id) => id && onChange([...pools, id])}
          hint="The next is tried only when the one before has no candidate"
        />
      )}
    </section>
  );
}
