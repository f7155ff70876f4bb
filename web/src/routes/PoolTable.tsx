import { Link } from "@tanstack/react-router";
import { count } from "../format";
import type { Live } from "../live/store";
import { CapacityBar } from "../ui/bars";
import { Glyph } from "../ui/Glyph";
import { Panel } from "../ui/Panel";
import type { AlarmRow, PoolRow } from "../wire/messages";
import styles from "./fleet.module.css";
import { AlarmChip, Badge, OldestWait } from "./PoolCard";
import { kindWords, states } from "./pool";

/** The pools as one dense table. */
export function PoolTable({ pools, alarms }: { pools: Live<PoolRow>[]; alarms: ReadonlyMap<string, AlarmRow> }) {
  return (
    <Panel label="Pools" flush>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div className={styles.scroll} tabIndex={0} role="region" aria-label="Pools, table">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Pool</th>
              <th scope="col">Kind</th>
              <th scope="col">Nodes by state</th>
              <th scope="col">Slots</th>
              <th scope="col" data-number>
                Free
              </th>
              <th scope="col" data-number>
                Running
              </th>
              <th scope="col" data-number>
                Queued
              </th>
              <th scope="col" data-number>
                Oldest wait
              </th>
              <th scope="col">Alarm</th>
            </tr>
          </thead>
          <tbody>
            {pools.map((p) => (
              <Row key={p.id} pool={p} alarm={alarms.get(p.id)} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Row({ pool: p, alarm }: { pool: Live<PoolRow>; alarm: AlarmRow | undefined }) {
  return (
    <tr data-pool={p.id}>
      <th scope="row">
        <Link to="/pools/$id" params={{ id: p.id }}>
          {p.id}
        </Link>
      </th>
      <td>
        {kindWords(p)} {p.canary && <Badge mark="C" text="canary" />} {p.state !== "active" && <Badge text={p.state} />}
      </td>
      <td>
        {states(p.nodes).map(({ state, n }) => (
          <span key={state} className={styles.inline} title={state}>
            <Glyph of={state} size={10} label={state} /> {count(n)}
          </span>
        ))}
      </td>
      <td>
        <CapacityBar thin used={p.slots_total - p.slots_free - p.slots_out_of_use} out={p.slots_out_of_use} total={p.slots_total} />
      </td>
      <td data-number>
        {count(p.slots_free)} of {count(p.slots_total)}
      </td>
      <td data-number>{count(p.running)}</td>
      <td data-number>{count(p.queued)}</td>
      <td data-number>{p.kind === "unassigned" ? "" : <OldestWait pool={p} alarm={alarm} />}</td>
      <td>{alarm && <AlarmChip alarm={alarm} />}</td>
    </tr>
  );
}
