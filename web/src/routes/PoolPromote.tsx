import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PromoteRequest } from "../api/documents";
import { promote } from "../api/pools";
import { plural } from "../format";
import { useTopic } from "../live/live";
import type { Live } from "../live/store";
import { Field } from "../ui/controls";
import { Check, Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { PoolRow } from "../wire/messages";
import { Confirm, reasonLabel } from "./Confirm";
import { WouldDo } from "./DryRun";
import { byPlace } from "./pool";
import styles from "./poolpage.module.css";
import { spanOf, wholeNumber } from "./thresholds";

/** All nodes of a canary pool to another, in one action, when the chosen checks hold. */
export function PromoteSheet({ pool, onClose }: { pool: Live<PoolRow>; onClose(): void }) {
  const pools = useTopic("pools").rows;
  const targets = pools.filter((p) => p.id !== pool.id && p.kind !== "unassigned").toSorted(byPlace);
  const [to, setTo] = useState(targets[0]?.id ?? "default");
  const [jobs, setJobs] = useState("3");
  const [ready, setReady] = useState("10m");
  const [noRestart, setNoRestart] = useState(true);
  const [reason, setReason] = useState("");
  const readable = wholeNumber(jobs) !== undefined && (ready === "" || spanOf(ready) !== undefined);
  const checks = { jobs: wholeNumber(jobs) ?? 0, noRestart, ...(ready && { readyFor: ready }) };
  const run = useQuery({
    queryKey: ["dry run", "promote", pool.id, to, checks],
    queryFn: () => promote(pool.id, { to, checks }, true),
    enabled: readable,
    refetchInterval: 10_000,
    gcTime: 0,
    staleTime: 0,
  });
  const act = useMutation({
    mutationFn: (body: PromoteRequest) => promote(pool.id, body, false),
    onSuccess: (done) => {
      toast(`${plural(done.nodes.length, "node")} of ${pool.id} are in ${done.to} now.`);
      onClose();
    },
    onError: () => void run.refetch(),
  });
  const reasons = run.data?.reasons ?? [];
  const nodes = run.data?.nodes.length ?? 0;
  const off = !readable ? "One of the checks can't be read" : !run.data ? "Trying first" : reasons.length > 0 ? "The checks do not hold" : undefined;
  return (
    <Sheet
      title={`Promote ${pool.id}`}
      open
      onClose={onClose}
      foot={
        <Confirm
          text={nodes > 0 ? `Promote ${plural(nodes, "node")}` : "Promote"}
          tone="primary"
          busy={act.isPending}
          off={off}
          note="All or none."
          onClose={onClose}
          onConfirm={() => act.mutate({ to, checks, ...(reason && { reason }) })}
        />
      }
    >
      <div className={styles.fields}>
        <Select label="To pool" value={to} options={targets.map((p) => [p.id, p.id] as const)} onChange={setTo} />
        <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      </div>
      <section className={styles.part}>
        <h3>Checks that must hold</h3>
        <div className={styles.fields}>
          <Field
            label="Canary jobs that succeeded"
            name="jobs"
            value={jobs}
            onChange={setJobs}
            error={wholeNumber(jobs) === undefined ? "A whole number" : undefined}
          />
          <Field
            label="Every node ready for"
            name="ready"
            value={ready}
            onChange={setReady}
            hint="Empty: not asked"
            error={ready === "" || spanOf(ready) !== undefined ? undefined : "A span such as 10m"}
          />
        </div>
        <Check checked={noRestart} onChange={setNoRestart}>
          No agent began anew in that time
        </Check>
      </section>
      {run.data && (
        <ul className={styles.reasons} aria-label="Checks">
          {reasons.map((r) => (
            <li key={r}>
              <Glyph of="failed" /> {r}
            </li>
          ))}
          {reasons.length === 0 && (
            <li>
              <Glyph of="succeeded" /> All checks hold.
            </li>
          )}
        </ul>
      )}
      <WouldDo run={run} pool={to} work={() => `run on; results count for ${pool.id}`} />
      {act.error && <Failed error={act.error} />}
    </Sheet>
  );
}
