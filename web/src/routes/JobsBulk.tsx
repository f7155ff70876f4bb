import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { CancelSelected } from "../api/documents";
import { cancelJobs } from "../api/work";
import { count, plural, shortId } from "../format";
import { useStale } from "../live/live";
import { isOpen } from "../state";
import { Button, IconButton } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { State } from "../ui/Glyph";
import { Failed, Gray } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { JobRow } from "../wire/messages";
import { Confirm } from "./Confirm";
import styles from "./jobs.module.css";
import bulk from "./nodes.module.css";

/** So many jobs one selection may have. */
const most = 1000;

/** The bar of the selected rows: it acts on exactly these, whatever arrives later. */
export function JobsBulk({ rows, onClear }: { rows: JobRow[]; onClear(): void }) {
  const stale = useStale();
  const [ids, setIds] = useState<string[] | null>(null);
  if (rows.length === 0) return null;
  const open = rows.filter(isOpen);
  const off = open.length === 0 ? "All of them have ended" : open.length > most ? `At most ${count(most)} at once` : undefined;
  return (
    <div className={bulk.bulk} data-behind={ids !== null || undefined} role="toolbar" aria-label="Selected jobs">
      <strong>{count(rows.length)} selected</strong>
      <span className={bulk.quiet}>{count(open.length)} not ended</span>
      <span className={bulk.acts}>
        <Button onPress={() => setIds(open.map((j) => j.id))} why={stale ? "No word from the server" : off}>
          Cancel jobs
        </Button>
        <IconButton icon="close" label="Clear the selection" onPress={onClear} />
      </span>
      {ids && <CancelSheet ids={ids} onClose={() => setIds(null)} onDone={onClear} />}
    </div>
  );
}

/** The list as it is now, and then exactly that list. */
function CancelSheet({ ids, onClose, onDone }: { ids: string[]; onClose(): void; onDone(): void }) {
  const dry = useQuery({ queryKey: ["cancel", ...ids], queryFn: () => cancelJobs(ids, true), gcTime: 0 });
  const act = useMutation({
    mutationFn: () => cancelJobs(ids, false),
    onSuccess: (done) => {
      const refused = done.items.filter((i) => i.code).length;
      toast(
        `${plural(ids.length - refused, "job")} ${ids.length - refused === 1 ? "is" : "are"} being canceled${refused > 0 ? `; ${count(refused)} refused` : ""}.`,
      );
      onClose();
      onDone();
    },
  });
  return (
    <Sheet
      title={`Cancel ${plural(ids.length, "job")}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text={`Cancel ${plural(ids.length, "job")}`}
          busy={act.isPending}
          off={dry.data ? undefined : "The dry run is not there yet"}
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <p>Exactly these are canceled, whatever arrives later. Tools that run are told to end, and are killed 10 s later.</p>
      {dry.error ? <Failed error={dry.error} again={() => void dry.refetch()} /> : dry.data ? <Listed items={dry.data.items} /> : <Gray lines={4} wide={280} />}
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

function Listed({ items }: { items: CancelSelected["items"] }) {
  return (
    <ul className={styles.listed} aria-label="Jobs to cancel">
      {items.map((i) => (
        <li key={i.id}>
          <code title={i.id}>{shortId(i.id)}</code>
          {i.state ? <State of={i.state} /> : <span className={styles.quiet}>{(i.code ?? "").replaceAll("_", " ")}</span>}
        </li>
      ))}
    </ul>
  );
}
