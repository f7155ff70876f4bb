import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { getPool, getUsage, listQueued } from "../api/pools";
import { useStale, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, useSession } from "../session";
import { Columns, Page } from "../shell/Page";
import { Button } from "../ui/controls";
import { Menu } from "../ui/floating";
import { Icon } from "../ui/Icon";
import { Empty, Gray, Panel } from "../ui/Panel";
import type { PoolRow } from "../wire/messages";
import { AddToPool } from "./AddToPool";
import { AlarmList } from "./AlarmLine";
import { AlarmSheet } from "./AlarmSheet";
import { byUrgency } from "./alarm";
import { PoolCapacity } from "./PoolCapacity";
import { PoolNodes } from "./PoolNodes";
import { PoolNumbers } from "./PoolNumbers";
import { PromoteSheet } from "./PoolPromote";
import { MassLoss } from "./PoolRelease";
import { DeletePoolSheet, type PoolState, PoolStateSheet, ThresholdsSheet } from "./PoolSheets";
import { Queue, Resolvers, Thresholds } from "./PoolSide";
import { kindWords } from "./pool";
import styles from "./poolpage.module.css";
import { waitsFor } from "./queue";

type Open = "add" | PoolState | "thresholds" | "promote" | "delete" | null;

/** One pool: why it is short, who shares it, what waits for what. */
export function Pool() {
  const { id } = useParams({ from: "/inside/pools/$id" });
  const { byId, phase } = useTopic("pools");
  const pool = byId.get(id);
  if (!pool) {
    const none = phase === "ready" || phase === "refused";
    return (
      <Page title={id} above={{ to: "/", text: "Fleet" }}>
        <Panel label="Pool" flush={none}>
          {none ? <Empty title="There is no such pool, or it is not yours to see" /> : <Gray lines={4} wide={320} />}
        </Panel>
      </Page>
    );
  }
  return <Shown key={id} pool={pool} />;
}

function Shown({ pool }: { pool: Live<PoolRow> }) {
  const session = useSession();
  const [open, setOpen] = useState<Open>(null);
  const [alarm, setAlarm] = useState<string | null>(null);
  const nodes = useTopic("nodes");
  const own = useMemo(() => nodes.rows.filter((n) => n.pool === pool.id), [nodes.rows, pool.id]);
  const alarms = useTopic("alarms").rows.filter((a) => a.pool === pool.id);
  const { doc, usage, queued, waiting, apps } = useFacts(pool);
  const boss = isSuperadmin(session);
  const away = useStale() ? "No word from the server" : undefined;
  return (
    <Page
      title={pool.id}
      above={{ to: "/", text: "Fleet" }}
      note={<Note pool={pool} sharing={doc.data?.sharing?.text} />}
      menu={boss && <PoolMenu pool={pool} onOpen={setOpen} />}
      actions={boss && <Actions pool={pool} onOpen={setOpen} why={away} />}
    >
      <MassLoss pool={pool} />
      {alarms.length > 0 && <AlarmList alarms={alarms.toSorted(byUrgency)} tinted without="pool" onWhy={setAlarm} />}
      <PoolNumbers pool={pool} nodes={own} usage={usage.data?.items} apps={apps} />
      <Columns
        wide
        main={
          <>
            <PoolCapacity pool={pool} />
            <PoolNodes pool={pool.id} nodes={own} loading={nodes.phase === "loading"} />
          </>
        }
        side={
          <>
            <Resolvers pool={pool} doc={doc.data} error={doc.error} again={() => void doc.refetch()} usage={usage.data?.items} waiting={waiting} />
            <Queue pool={pool} waiting={waiting} error={queued.error} again={() => void queued.refetch()} />
            {pool.kind !== "unassigned" && (
              <Thresholds pool={pool} doc={doc.data} onChange={boss && !isFixed(pool) ? () => setOpen("thresholds") : undefined} why={away} />
            )}
          </>
        }
      />
      <Sheets pool={pool} open={open} onClose={() => setOpen(null)} />
      {alarm && <AlarmSheet id={alarm} onClose={() => setAlarm(null)} />}
    </Page>
  );
}

/** What is read of a pool over REST, anew when its numbers change. */
function useFacts(pool: PoolRow) {
  const stale = useStale();
  const every = stale ? (false as const) : 15_000;
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const doc = useQuery({ queryKey: ["pool", pool.id, pool.version], queryFn: () => getPool(pool.id), refetchInterval: every, placeholderData: (old) => old });
  const usage = useQuery({ queryKey: ["usage", since], queryFn: () => getUsage({ since }), refetchInterval: stale ? false : 60_000 });
  const queued = useQuery({
    queryKey: ["queued", pool.queued > 0],
    queryFn: listQueued,
    enabled: pool.queued > 0,
    refetchInterval: stale ? false : 4_000,
  });
  const apps = useMemo(() => new Set(doc.data?.resolvers?.filter((r) => !r.fallback && r.place === 0).map((r) => r.app)), [doc.data]);
  const waiting = pool.queued === 0 ? [] : queued.data?.items.filter((j) => waitsFor(j, pool.id, apps));
  return { doc, usage, queued, waiting, apps };
}

function Note({ pool, sharing }: { pool: PoolRow; sharing: string | undefined }) {
  return (
    <>
      <span className={styles.badge}>{kindWords(pool)}</span>
      {pool.canary && (
        <span className={styles.badge}>
          <b>C</b> canary
        </span>
      )}
      <span className={styles.badge} data-off={pool.state !== "active" || undefined}>
        {pool.state}
      </span>
      {sharing && <span className={styles.sharing}>{sharing}</span>}
    </>
  );
}

/** default and unassigned can't be changed. */
const isFixed = (pool: PoolRow) => pool.kind === "default" || pool.kind === "unassigned";

function Actions({ pool, onOpen, why }: { pool: PoolRow; onOpen(open: Open): void; why: string | undefined }) {
  return (
    <>
      <Button icon="plus" onPress={() => onOpen("add")} why={why}>
        Add node
      </Button>
      {pool.canary ? (
        <Button onPress={() => onOpen("promote")} why={why}>
          Promote
        </Button>
      ) : (
        !isFixed(pool) && (
          <Button onPress={() => onOpen(pool.state === "active" ? "draining" : "active")} why={why}>
            {pool.state === "active" ? "Drain pool" : "Activate pool"}
          </Button>
        )
      )}
      <span className={styles.deskOnly}>
        <PoolMenu pool={pool} onOpen={onOpen} />
      </span>
    </>
  );
}

function PoolMenu({ pool, onOpen }: { pool: PoolRow; onOpen(open: Open): void }) {
  const stale = useStale();
  const to = (id: Open & string, text: string) => ({ id, text, onAction: () => onOpen(id), off: stale });
  const states: [PoolState, string][] = [
    ["active", "Activate pool"],
    ["draining", "Drain pool"],
    ["disabled", "Disable pool"],
  ];
  return (
    <Menu
      label="More"
      entries={[
        ...(isFixed(pool) ? [] : [to("thresholds", "Change thresholds")]),
        ...(isFixed(pool) ? [] : states.filter(([state]) => state !== pool.state).map(([state, text]) => to(state, text))),
        ...(pool.kind === "named" ? [to("delete", "Delete pool")] : []),
        { id: "copy", text: "Copy id", onAction: () => void navigator.clipboard?.writeText(pool.id) },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

function Sheets({ pool, open, onClose }: { pool: Live<PoolRow>; open: Open; onClose(): void }) {
  if (open === null) return null;
  if (open === "add") return <AddToPool pool={pool} onClose={onClose} />;
  if (open === "thresholds") return <ThresholdsSheet pool={pool} onClose={onClose} />;
  if (open === "promote") return <PromoteSheet pool={pool} onClose={onClose} />;
  if (open === "delete") return <DeletePoolSheet pool={pool} onClose={onClose} />;
  return <PoolStateSheet pool={pool} to={open} onClose={onClose} />;
}
