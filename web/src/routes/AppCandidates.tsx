import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Candidates } from "../api/documents";
import { getCandidates, listRoles } from "../api/pools";
import { moment } from "../format";
import { useStale } from "../live/live";
import { Field } from "../ui/controls";
import { Select } from "../ui/fields";
import { Glyph } from "../ui/Glyph";
import { Failed, Gray } from "../ui/Panel";
import styles from "./apps.module.css";
import { poolWords, sentence } from "./binding";
import { wholeNumber } from "./thresholds";

const backends = [
  ["", "any"],
  ["cpu", "cpu"],
  ["cuda", "cuda"],
  ["hip", "hip"],
] as const;

/** Where work would go now: asked as a submit would, without any effect. */
export function AppCandidates({ app }: { app: string }) {
  const stale = useStale();
  const roles = useQuery({ queryKey: ["roles"], queryFn: listRoles });
  const [role, setRole] = useState("worker");
  const [backend, setBackend] = useState("");
  const [slots, setSlots] = useState("1");
  const asked = wholeNumber(slots, 64);
  const query = { role, ...(backend && { backend }), slots: String(asked ?? 1) };
  const found = useQuery({
    queryKey: ["candidates", app, query],
    queryFn: () => getCandidates(app, query),
    enabled: asked !== undefined,
    placeholderData: (old) => old,
    refetchInterval: stale ? false : 5_000,
  });
  return (
    <section className={styles.part}>
      <h3>Where work would go now</h3>
      <div className={styles.three}>
        <Select label="Role" value={role} options={(roles.data?.items ?? [{ name: "worker" }]).map((r) => [r.name, r.name] as const)} onChange={setRole} />
        <Select label="Backend" value={backend} options={backends} onChange={setBackend} />
        <Field label="Slots" name="slots" value={slots} onChange={setSlots} error={asked === undefined ? "0 to 64" : undefined} />
      </div>
      {found.error ? <Failed error={found.error} again={() => void found.refetch()} /> : found.data ? <Found of={found.data} /> : <Gray lines={3} wide={320} />}
    </section>
  );
}

function Found({ of }: { of: Candidates }) {
  const node = of.decision.node;
  return (
    <>
      <ul className={styles.goes} aria-live="polite">
        <li>
          <Glyph of={node ? "succeeded" : "critical"} />
          <span>
            {node ? (
              <>
                <Link to="/nodes/$id" params={{ id: node }} className="mono" data-link>
                  {node}
                </Link>{" "}
                would take it{of.decision.fallback ? ", as fallback" : ""}.
              </>
            ) : (
              sentence(of.hint || of.decision.text)
            )}
          </span>
        </li>
        {of.pools.map((p) => (
          <li key={p.pool}>
            <Glyph of={p.candidates > 0 ? "succeeded" : "declined"} />
            <span>{poolWords(p)}.</span>
          </li>
        ))}
      </ul>
      <p className={styles.small}>Asked at {moment(of.decision.at)}; it left no alarm, no record and no reservation.</p>
    </>
  );
}
