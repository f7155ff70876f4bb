import { useState } from "react";
import { count, plural } from "../format";
import { useStale } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, useSession } from "../session";
import { outOfUse } from "../state";
import { Button, IconButton } from "../ui/controls";
import { Menu } from "../ui/floating";
import { Icon } from "../ui/Icon";
import { toast } from "../ui/toasts";
import type { NodeRow } from "../wire/messages";
import { NodesSheet } from "./NodesSheet";
import type { NodeAct } from "./nodeact";
import styles from "./nodes.module.css";

/** The bar of the selected rows: it acts on exactly these, whatever arrives later. */
export function NodesBulk({ rows, onClear }: { rows: Live<NodeRow>[]; onClear(): void }) {
  const session = useSession();
  const stale = useStale();
  const [act, setAct] = useState<NodeAct | null>(null);
  const why = stale ? "No word from the server" : undefined;
  if (rows.length === 0) return null;
  const jobs = rows.reduce((n, r) => n + r.running.length, 0);
  const placed = rows.reduce((n, r) => n + r.placements, 0);
  const free = rows.reduce((n, r) => n + Math.max(0, r.slots_total - r.slots_used - outOfUse(r)), 0);
  const copy = () => navigator.clipboard?.writeText(rows.map((r) => r.id).join("\n")).then(() => toast("Copied."));
  return (
    <div className={styles.bulk} data-behind={act !== null || undefined} role="toolbar" aria-label="Selected nodes">
      <strong>{count(rows.length)} selected</strong>
      <span className={styles.quiet}>
        {plural(jobs, "job")}, {placed > 0 && `${plural(placed, "placement")}, `}
        {plural(free, "free slot")}
      </span>
      <span className={styles.acts}>
        <Button onPress={() => setAct("cordon")} why={why}>
          Cordon
        </Button>
        <Button onPress={() => setAct("drain")} why={why}>
          Drain
        </Button>
        {isSuperadmin(session) && (
          <Button onPress={() => setAct("move")} why={why}>
            Move
          </Button>
        )}
        <Menu label="More for these nodes" entries={[{ id: "ids", text: "Copy ids", onAction: () => void copy() }]}>
          <Icon name="more" />
        </Menu>
        <IconButton icon="close" label="Clear the selection" onPress={onClear} />
      </span>
      {act && <NodesSheet act={act} nodes={rows} onClose={() => setAct(null)} onDone={onClear} />}
    </div>
  );
}
