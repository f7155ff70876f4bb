import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { PoolChange } from "../api/documents";
import { changePool, deletePool, tryPool } from "../api/pools";
import { Field, Segmented } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { PoolRow } from "../wire/messages";
import { Confirm, reasonLabel } from "./Confirm";
import { WouldDo } from "./DryRun";
import { spanWords, thresholdsOf, wholeNumber } from "./thresholds";

/** What can be changed of a pool; each in a sheet that says what it would do. */

export type PoolState = "active" | "draining" | "disabled";

const stateWords: Record<PoolState, { title: string; says: string; work: string }> = {
  active: { title: "Activate", says: "It takes new work from the very next decision on.", work: "runs on" },
  draining: { title: "Drain", says: "It takes no new work; what runs there runs on to its end.", work: "runs on to its end" },
  disabled: { title: "Disable", says: "It counts as empty: nothing is placed there.", work: "runs on; its results count" },
};

/** Pool-wide: the pool's name is typed in the place of a box. */
export function PoolStateSheet({ pool, to: first, onClose }: { pool: PoolRow; to: PoolState; onClose(): void }) {
  const [to, setTo] = useState(first);
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const words = stateWords[to];
  const run = useQuery({
    queryKey: ["dry run", "pool", pool.id, to, pool.version],
    queryFn: ({ signal }) => tryPool(pool.id, { state: to }, signal),
    gcTime: 0,
    staleTime: 0,
  });
  const act = useMutation({
    mutationFn: () => changePool(pool.id, { state: to, ...(reason && { reason }) }, pool.version),
    onSuccess: () => {
      toast(`${pool.id} is ${to} now.`);
      onClose();
    },
  });
  const off = to === pool.state ? `It is ${to} already` : typed !== pool.id ? `Type ${pool.id}` : run.isFetching || !run.data ? "Trying first" : undefined;
  return (
    <Sheet
      title={`${words.title} ${pool.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text={`${words.title} pool`}
          tone={to === "active" ? "primary" : "danger"}
          busy={act.isPending}
          off={off}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <Segmented
        label="State"
        value={to}
        options={[
          ["active", "Active"],
          ["draining", "Draining"],
          ["disabled", "Disabled"],
        ]}
        onChange={setTo}
        wide
      />
      <p>{words.says}</p>
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      <WouldDo run={run} pool={pool.id} work={() => words.work} />
      <Field label={`Type ${pool.id} to confirm`} name="typed" value={typed} onChange={setTyped} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

/** From when on the pool raises its alarms. */
export function ThresholdsSheet({ pool, onClose }: { pool: PoolRow; onClose(): void }) {
  const [version] = useState(pool.version);
  const [wait, setWait] = useState(spanWords(pool.threshold_queue_wait_ms));
  const [free, setFree] = useState(String(pool.threshold_free_slots));
  const [share, setShare] = useState(String(pool.threshold_not_ready_pct));
  const [reason, setReason] = useState("");
  const next = thresholdsOf(wait, free, share);
  const act = useMutation({
    mutationFn: (body: PoolChange) => changePool(pool.id, body, version),
    onSuccess: () => {
      toast(`The thresholds of ${pool.id} are changed.`);
      onClose();
    },
  });
  return (
    <Sheet
      title={`Thresholds of ${pool.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text="Save"
          tone="primary"
          busy={act.isPending}
          off={next ? undefined : "One of them can't be read"}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => next && act.mutate({ thresholds: next, ...(reason && { reason }) })}
        />
      }
    >
      <Field
        label="Queue wait"
        name="wait"
        value={wait}
        onChange={setWait}
        hint="An alarm when the oldest job waits longer: 60s, 5m, 1h30m"
        error={thresholdsOf(wait, "0", "0") ? undefined : "A span such as 60s or 5m"}
      />
      <Field
        label="Free slots"
        name="free"
        value={free}
        onChange={setFree}
        hint="An alarm when so few or fewer are free while work waits"
        error={wholeNumber(free) === undefined ? "A whole number" : undefined}
      />
      <Field
        label="Not ready, percent"
        name="share"
        value={share}
        onChange={setShare}
        hint="An alarm when a larger share of its nodes is not ready; 100: never"
        error={wholeNumber(share, 100) === undefined ? "A whole number up to 100" : undefined}
      />
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}

/** The server says what still refers to it. */
export function DeletePoolSheet({ pool, onClose }: { pool: PoolRow; onClose(): void }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: () => deletePool(pool.id, reason, pool.version),
    onSuccess: () => {
      toast(`${pool.id} is deleted.`);
      void navigate({ to: "/" });
    },
  });
  return (
    <Sheet
      title={`Delete ${pool.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text="Delete pool"
          busy={act.isPending}
          off={typed === pool.id ? undefined : `Type ${pool.id}`}
          note="One audit entry."
          onClose={onClose}
          onConfirm={() => act.mutate()}
        />
      }
    >
      <p>A pool is deleted only when no node is in it and no binding names it. What ran there keeps its records.</p>
      <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      <Field label={`Type ${pool.id} to confirm`} name="typed" value={typed} onChange={setTyped} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
