import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createApp } from "../api/pools";
import { listUsers } from "../api/users";
import { Field } from "../ui/controls";
import { Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import { Confirm } from "./Confirm";

/** An app is what work belongs to; its owner says where that goes until it is bound. */
export function CreateAppSheet({ onClose, onDone }: { onClose(): void; onDone(app: string): void }) {
  const queries = useQueryClient();
  const users = useQuery({ queryKey: ["users"], queryFn: () => listUsers() });
  const [id, setId] = useState("");
  const [owner, setOwner] = useState("");
  const act = useMutation({
    mutationFn: () => createApp(id, owner),
    onSuccess: (app) => {
      void queries.invalidateQueries({ queryKey: ["bindings"] });
      toast(`${app.id} is there.`);
      onClose();
      onDone(app.id);
    },
  });
  const named = /^[a-z0-9][a-z0-9-]{0,62}$/.test(id);
  const owners = users.data?.items.map((u) => [u.id, `${u.name}, user ${u.id}`] as const) ?? [];
  return (
    <Sheet
      title="Create app"
      open
      onClose={onClose}
      foot={
        <Confirm
          text="Create app"
          tone="primary"
          busy={act.isPending}
          off={named ? undefined : "It needs a name"}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <Field
        label="Name"
        name="id"
        value={id}
        onChange={setId}
        focus
        error={id === "" || named ? undefined : "Lower case letters, digits and dashes, up to 63"}
      />
      <Select label="Owner" value={owner} options={[["", "none: its work goes to default"], ...owners]} onChange={setOwner} />
      {(act.error ?? users.error) && <Failed error={act.error ?? users.error} />}
    </Sheet>
  );
}
