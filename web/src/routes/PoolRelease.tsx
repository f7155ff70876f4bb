import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { releasePool } from "../api/pools";
import { duration } from "../format";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { maySteer, useSession } from "../session";
import { Button, Field } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { PoolRow } from "../wire/messages";
import { Confirm, reasonLabel } from "./Confirm";
import styles from "./poolpage.module.css";

/** While most of a pool is silent and its work is kept for it: since when, and the way out. */
export function MassLoss({ pool }: { pool: Live<PoolRow> }) {
  const session = useSession();
  const now = useNow();
  const stale = useStale();
  const [open, setOpen] = useState(false);
  if (pool.mass_loss_ms === 0) return null;
  return (
    <div className={styles.massLoss} data-mass-loss>
      <Glyph of="critical" />
      <p>
        <strong>Mass loss for {duration(pool.mass_loss_ms + Math.max(0, now - pool.received))}</strong>: most nodes fell silent at once. Their work is kept for
        them, ten minutes at most.
      </p>
      {maySteer(session) && (
        <Button onPress={() => setOpen(true)} why={stale ? "No word from the server" : undefined}>
          Release
        </Button>
      )}
      {open && <ReleaseSheet pool={pool.id} onClose={() => setOpen(false)} />}
    </div>
  );
}

function ReleaseSheet({ pool, onClose }: { pool: string; onClose(): void }) {
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => releasePool(pool, reason),
    onSuccess: () => {
      toast(`${pool} is released.`);
      onClose();
    },
  });
  return (
    <Sheet
      title={`Release ${pool}`}
      open
      onClose={onClose}
      foot={<Confirm text="Release pool" busy={act.isPending} note="One audit entry." onClose={onClose} onConfirm={() => act.mutate()} />}
    >
      <p>
        The silent nodes are lost as soon as their leases are over, and what ran on them runs again elsewhere. If they still run it, that work is done twice.
      </p>
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
