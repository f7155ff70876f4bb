import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { resolveJob, retryJob } from "../api/work";
import { shortId } from "../format";
import { Segmented } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { JobRow } from "../wire/messages";
import { Confirm } from "./Confirm";

/** What only a person can decide: about a held job, and that one that has ended is run again. */

/** One more attempt, or its end. */
export function ResolveJob({ row, onClose }: { row: JobRow; onClose(): void }) {
  const [action, setAction] = useState<"requeue" | "fail">("requeue");
  const act = useMutation({
    mutationFn: () => resolveJob(row.id, action),
    onSuccess: () => {
      toast(`${shortId(row.id)} ${action === "fail" ? "has failed" : "is queued again"}.`);
      onClose();
    },
  });
  const run = action === "requeue";
  return (
    <Sheet
      title="Resolve job"
      open
      onClose={onClose}
      foot={
        <Confirm
          text={run ? "Run it again" : "Let it fail"}
          tone={run ? "primary" : "danger"}
          busy={act.isPending}
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <p>
        The node of its last attempt{row.node && `, ${row.node},`} was lost while it ran. Nobody knows whether that attempt had an effect: look there before it
        runs twice.
      </p>
      <Segmented
        label="What becomes of it"
        value={action}
        options={[
          ["requeue", "Run it again"],
          ["fail", "Let it fail"],
        ]}
        onChange={setAction}
        wide
      />
      <p>{run ? "It goes back into the queue of its pools, at its old place." : "It ends as failed; it can be retried later as a new job."}</p>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

/** Submits an ended job once more and goes to the new one. */
export function RetryJob({ row, onClose }: { row: JobRow; onClose(): void }) {
  const navigate = useNavigate();
  const act = useMutation({
    mutationFn: () => retryJob(row.id),
    onSuccess: (job) => {
      toast(`${shortId(job.id)} is the retry.`);
      onClose();
      void navigate({ to: "/jobs/$id", params: { id: job.id } });
    },
  });
  return (
    <Sheet
      title="Retry job"
      open
      onClose={onClose}
      foot={<Confirm text="Retry" tone="primary" busy={act.isPending} onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <p>
        A new job of {row.app} with the same runner, inputs and demands is submitted. <code>{shortId(row.id)}</code> stays as it ended.
      </p>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
