import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { createPool } from "../api/pools";
import { Field } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import { Confirm, reasonLabel } from "./Confirm";

/** A named pool: apps are bound to it, or it is a canary until one is. */
export function CreatePool({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [id, setId] = useState("");
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => createPool({ id, ...(reason && { reason }) }),
    onSuccess: (pool) => {
      void queries.invalidateQueries({ queryKey: ["pool", pool.id] });
      toast(`${pool.id} is there.`);
      void navigate({ to: "/pools/$id", params: { id: pool.id } });
    },
  });
  const named = /^[a-z0-9][a-z0-9-]{0,62}$/.test(id);
  return (
    <Sheet
      title="Create pool"
      open
      onClose={onClose}
      foot={
        <Confirm
          text="Create pool"
          tone="primary"
          busy={act.isPending}
          off={named ? undefined : "It needs a name"}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <p>A named pool is empty at first. Until an app is bound to it, it is a canary pool: its nodes get canary jobs and nothing else.</p>
      <Field
        label="Name"
        name="id"
        value={id}
        onChange={setId}
        focus
        hint="It can't be changed later"
        error={id === "" || named ? undefined : "Lower case letters, digits and dashes, up to 63"}
      />
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
