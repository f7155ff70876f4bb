import { useQuery } from "@tanstack/react-query";
import { getPoolHistory } from "../api/pools";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { CapacityChart, type CapacityPoint, ChartLegend } from "../ui/CapacityChart";
import { Failed, Gray, Panel } from "../ui/Panel";
import type { PoolRow } from "../wire/messages";

const whole = 6 * 3_600_000;
const least = 60_000;

/** Slots of the last six hours, or of as long as the server has known the pool. */
export function PoolCapacity({ pool }: { pool: Live<PoolRow> }) {
  const stale = useStale();
  const now = useNow(10_000);
  const past = useQuery({
    queryKey: ["pool", pool.id, "history"],
    queryFn: () => getPoolHistory(pool.id),
    refetchInterval: stale ? false : 60_000,
  });
  const points: CapacityPoint[] = past.data?.items.map((p) => ({ ...p, at: Date.parse(p.at) })) ?? [];
  const last = { at: now, used: pool.slots_total - pool.slots_free - pool.slots_out_of_use, outOfUse: pool.slots_out_of_use, total: pool.slots_total };
  const all = [...points.filter((p) => p.at < now), { ...last, queued: pool.queued, draining: pool.nodes.draining }];
  const first = all[0]?.at ?? now;
  const from = Math.max(now - whole, first);
  const young = now - from < least;
  return (
    <Panel title="Capacity" note={young ? undefined : `${span(now - from)}, slots`} side={<ChartLegend />}>
      {past.error ? (
        <Failed error={past.error} again={() => void past.refetch()} />
      ) : past.data && young ? (
        <p>A point is kept every minute; the curve begins with the second one.</p>
      ) : past.data ? (
        <CapacityChart points={all.filter((p) => p.at >= from)} from={from} to={now} label={`Slots of ${pool.id} over time`} />
      ) : (
        <Gray lines={4} wide={320} />
      )}
    </Panel>
  );
}

/** 6 h, 40 min */
const span = (ms: number) => (ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`);
