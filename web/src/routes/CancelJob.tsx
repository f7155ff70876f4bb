import { useMutation } from "@tanstack/react-query";
import { cancelJob } from "../api/calls";
import { shortId } from "../format";
import { useStale } from "../live/live";
import { Button } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { JobRow } from "../wire/messages";

/** Says what a cancel does, then asks for it. */
export function CancelJob({ row, onClose }: { row: JobRow; onClose(): void }) {
  const stale = useStale();
  const act = useMutation({
    mutationFn: () => cancelJob(row.id),
    onSuccess: () => {
      toast(`${shortId(row.id)} is being canceled.`);
      onClose();
    },
  });
  return (
    <Sheet
      title="Cancel job"
      open
      onClose={onClose}
      foot={
        <>
          <Button onPress={onClose}>Keep it</Button>
          <Button tone="danger" onPress={() => act.mutate()} isDisabled={act.isPending} why={stale ? "No word from the server" : undefined}>
            Cancel job
          </Button>
        </>
      }
    >
      <p>
        <code>{row.id}</code> of {row.app}.
      </p>
      <p>
        {row.node
          ? `Its tool on ${row.node} is told to end, and is killed 10 s later. The work done so far is lost.`
          : "It has not begun; it leaves the queue."}
      </p>
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
