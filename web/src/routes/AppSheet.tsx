import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { AppBindings, Binding } from "../api/documents";
import { getBindings } from "../api/pools";
import { useStale } from "../live/live";
import { Button } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Failed, Gray } from "../ui/Panel";
import { AppCandidates } from "./AppCandidates";
import { AppShare } from "./AppShare";
import styles from "./apps.module.css";
import { BindingEditor } from "./BindingEditor";
import { bindingWords, roleWords, sentence } from "./binding";

const unbound: Binding = { role: "", pools: [], allowFallbackToDefault: false };

/** One app: where its work goes, its bindings, and which nodes could take some now. */
export function AppSheet({ app, onClose }: { app: string; onClose(): void }) {
  const stale = useStale();
  const bindings = useQuery({ queryKey: ["bindings", app], queryFn: () => getBindings(app), refetchInterval: stale ? false : 10_000 });
  const [editing, setEditing] = useState<Binding | null>(null);
  const b = bindings.data;
  if (b && editing) return <BindingEditor app={b} binding={editing} onBack={() => setEditing(null)} onClose={onClose} />;
  return (
    <Sheet title={app} open onClose={onClose}>
      {bindings.error ? (
        <Failed error={bindings.error} again={() => void bindings.refetch()} />
      ) : !b ? (
        <Gray lines={5} wide={320} />
      ) : (
        <>
          <Goes app={b} />
          <Bindings app={b} onEdit={setEditing} />
          <AppShare app={app} />
          <AppCandidates app={app} />
        </>
      )}
    </Sheet>
  );
}

function Goes({ app }: { app: AppBindings }) {
  return (
    <section className={styles.part}>
      <h3>Where its work goes</h3>
      <ul className={styles.goes}>
        {app.resolutions.map((r) => (
          <li key={r.role}>
            <Glyph of={r.usable > 0 ? "succeeded" : "critical"} label={r.usable > 0 ? "has a usable node" : "has no usable node"} />
            <span>{sentence(r.text)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Bindings({ app, onEdit }: { app: AppBindings; onEdit(b: Binding): void }) {
  const why = useStale() ? "No word from the server" : undefined;
  return (
    <section className={styles.part}>
      <h3>Bindings</h3>
      {app.bindings.length === 0 && (
        <p className={styles.quiet}>
          None: {app.owner ? `the pool of user ${app.owner} takes its work` : "it has no owner, so default takes its work"}. A binding replaces that.
        </p>
      )}
      <ul className={styles.bindings}>
        {app.bindings.map((b) => (
          <li key={b.role}>
            <b>{roleWords(b.role)}</b>
            <span>{bindingWords(b)}</span>
            <Button small onPress={() => onEdit(b)} why={why}>
              Edit
            </Button>
          </li>
        ))}
      </ul>
      <div>
        <Button small icon="plus" onPress={() => onEdit(unbound)} why={why}>
          Bind
        </Button>
      </div>
    </section>
  );
}
