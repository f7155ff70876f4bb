import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Isolation } from "../api/documents";
import { auditIsolation, verifyAudit } from "../api/watch";
import { count, moment, plural } from "../format";
import { Button, Copy } from "../ui/controls";
import { Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Failed, Gray } from "../ui/Panel";
import styles from "./audit.module.css";

/** Two proofs over what is kept: the chain is whole, and no work left its pools. */
export function AuditChecks({ onClose }: { onClose(): void }) {
  return (
    <Sheet
      title="Verify"
      open
      onClose={onClose}
      foot={
        <Button tone="primary" onPress={onClose}>
          Done
        </Button>
      }
    >
      <Chain />
      <Isolated />
    </Sheet>
  );
}

function Chain() {
  const run = useQuery({ queryKey: ["audit", "verify"], queryFn: verifyAudit, gcTime: 0, staleTime: 0 });
  const v = run.data;
  return (
    <section className={styles.value}>
      <h3>The chain of entries</h3>
      {run.error ? (
        <Failed error={run.error} again={() => void run.refetch()} />
      ) : !v || run.isFetching ? (
        <Gray lines={2} wide={320} />
      ) : (
        <>
          <p className={styles.said}>
            <Glyph of={v.ok ? "succeeded" : "critical"} size={14} />
            <b>{v.ok ? `Whole: ${plural(v.seq, "entry", "entries")}, each with the sum of the one before.` : `Entry ${count(v.badSeq ?? 0)} does not fit.`}</b>
          </p>
          <p className={styles.sum}>
            Head <code>{v.sum}</code> <Copy text={v.sum} label="Copy the head's sum" />
          </p>
        </>
      )}
    </section>
  );
}

const windows = [
  ["", "all that is kept"],
  ["24h", "the last day"],
  ["168h", "the last 7 days"],
  ["720h", "the last 30 days"],
] as const;

function Isolated() {
  const [since, setSince] = useState("");
  const run = useMutation({ mutationFn: () => auditIsolation(since) });
  return (
    <section className={styles.value}>
      <h3>Isolation of the pools</h3>
      <p className={styles.quiet}>Reads the kept history again and proves that no work ran on a node outside its pools without a record of fallback.</p>
      <div className={styles.ask}>
        <Select label="Of" value={since} options={windows} onChange={setSince} />
        <Button onPress={() => run.mutate()} isDisabled={run.isPending}>
          {run.isPending ? "Reading" : "Prove"}
        </Button>
      </div>
      {run.error && <Failed error={run.error} again={() => run.mutate()} />}
      {run.data && <Proof of={run.data} />}
    </section>
  );
}

function Proof({ of }: { of: Isolation }) {
  const read = `${plural(of.attempts, "attempt")} of ${plural(of.jobs, "job")}, ${plural(of.placements, "placement")}, ${count(of.fallbacks)} of them recorded as fallback`;
  return (
    <>
      <p className={styles.said} role="status">
        <Glyph of={of.holds ? "succeeded" : "critical"} size={14} />
        <b>{of.holds ? "It holds: 0 crossings." : `${plural(of.found, "crossing")}.`}</b>
      </p>
      <p className={styles.quiet}>
        {read}
        {of.from && of.to ? `, from ${moment(of.from)} to ${moment(of.to)}` : ""}.
      </p>
      <ul className={styles.crossings}>
        {of.crossings.map((c) => (
          <li key={`${c.job ?? c.placement} ${c.attempt ?? c.node}`}>
            {c.job ? (
              <Link to="/jobs/$id" params={{ id: c.job }} className="mono">
                {c.job.slice(0, 13)}
              </Link>
            ) : (
              <span className="mono">{c.placement?.slice(0, 13)}</span>
            )}
            <span>
              {c.job ? `attempt ${c.attempt}` : "placement"} on {c.node}, in {c.pool}: {c.detail}
            </span>
          </li>
        ))}
      </ul>
      {of.found > of.crossings.length && <p className={styles.quiet}>and {plural(of.found - of.crossings.length, "more crossing")}</p>}
    </>
  );
}
