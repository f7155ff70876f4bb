import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { App, Share } from "../api/documents";
import { getApp, setShare } from "../api/work";
import { count } from "../format";
import { useStale } from "../live/live";
import { Button, Field } from "../ui/controls";
import { Facts, Failed, Gray } from "../ui/Panel";
import { toast } from "../ui/toasts";
import styles from "./apps.module.css";
import { type Bounds, boundsOf, readShare } from "./share";

const bound = (n: number) => (n > 0 ? count(n) : "no bound");

/** What an app may have beside others: its weight, and bounds. */
export function AppShare({ app }: { app: string }) {
  const stale = useStale();
  const found = useQuery({ queryKey: ["app", app], queryFn: () => getApp(app) });
  const [editing, setEditing] = useState(false);
  const share = found.data?.share;
  return (
    <section className={styles.part}>
      <h3>Share</h3>
      {found.error ? (
        <Failed error={found.error} again={() => void found.refetch()} />
      ) : !found.data || !share ? (
        <Gray lines={3} wide={240} />
      ) : editing ? (
        <Editor app={found.data} onClose={() => setEditing(false)} />
      ) : (
        <>
          <Facts
            rows={[
              ["Weight", `${share.weight}, of the work that waits for the same pool`],
              ["Open jobs", bound(share.maxOpenJobs)],
              ["Placements", bound(share.maxPlacements)],
              ["Slots", bound(share.maxSlots)],
            ]}
          />
          <div>
            <Button small onPress={() => setEditing(true)} why={stale ? "No word from the server" : undefined}>
              Change share
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

const fields: [key: keyof Share, label: string, hint: string][] = [
  ["weight", "Weight", "1 to 1,000; an app with twice the weight gets twice the slots while both wait"],
  ["maxOpenJobs", "Most open jobs", "A submit past it is refused; empty: no bound"],
  ["maxPlacements", "Most placements", "A placement past it is refused; empty: no bound"],
  ["maxSlots", "Most slots", "Jobs past it wait, placements are refused; empty: no bound"],
];

function Editor({ app, onClose }: { app: App; onClose(): void }) {
  const stale = useStale();
  const queries = useQueryClient();
  const [values, setValues] = useState<Bounds>(() => boundsOf(app.share));
  const [reason, setReason] = useState("");
  const share = readShare(values);
  const act = useMutation({
    mutationFn: (next: Share) => setShare(app.id, { ...next, ...(reason && { reason }) }, app.version),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["app", app.id] });
      toast(`The share of ${app.id} is changed: the very next decision uses it.`);
      onClose();
    },
  });
  return (
    <>
      {fields.map(([key, label, hint]) => (
        <Field key={key} label={label} name={key} value={values[key]} onChange={(value) => setValues({ ...values, [key]: value })} hint={hint} />
      ))}
      <Field label="Reason" name="reason" value={reason} onChange={setReason} hint="Stands in the audit" />
      {act.error && <Failed error={act.error} />}
      <div className={styles.buttons}>
        <Button small onPress={onClose}>
          Cancel
        </Button>
        <Button
          small
          tone="primary"
          onPress={() => share && act.mutate(share)}
          isDisabled={act.isPending}
          why={stale ? "No word from the server" : share ? undefined : "Whole numbers, please; the weight is 1 to 1,000"}
        >
          Change share
        </Button>
      </div>
    </>
  );
}
