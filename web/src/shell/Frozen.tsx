import { moment } from "../format";
import { useTopic } from "../live/live";
import { frozenWords } from "../state";
import { Glyph } from "../ui/Glyph";
import styles from "./shell.module.css";

/** Over every page while no lease runs out by a fault of the control plane, and why. */
export function Frozen() {
  const fleet = useTopic("fleet").rows[0];
  if (!fleet || fleet.frozen_ms === 0) return null;
  const at = (ms: number) => moment(Math.round((fleet.received + ms) / 1000) * 1000);
  const until = fleet.frozen_for_ms > 0 ? ` Leases run out again from ${at(fleet.frozen_for_ms)} on.` : "";
  return (
    <p className={styles.frozen} role="status" data-frozen={fleet.frozen_by}>
      <Glyph of="warning" />
      <span>
        <strong>Fleet frozen since {at(-fleet.frozen_ms)}</strong>: {frozenWords(fleet)}, so no node is lost.{until}
      </span>
    </p>
  );
}
