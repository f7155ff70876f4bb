import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { listAlarms } from "../api/watch";
import { plural } from "../format";
import { useNow, useTopic } from "../live/live";
import type { Live } from "../live/store";
import { Page } from "../shell/Page";
import { Button, Segmented } from "../ui/controls";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import type { AlarmRow } from "../wire/messages";
import { AlarmList } from "./AlarmLine";
import { AlarmSheet } from "./AlarmSheet";
import { byUrgency, isSilent, rowOfAlarm } from "./alarm";
import styles from "./alarm.module.css";

/** What is wrong now, live; what people silenced; what was wrong before. */
export function Alarms() {
  const { id, view = "now" } = useSearch({ from: "/inside/alarms" });
  const navigate = useNavigate({ from: "/alarms" });
  const { rows, phase } = useTopic("alarms");
  const lasting = rows.toSorted(byUrgency);
  const told = lasting.filter((a) => !isSilent(a));
  const silent = lasting.filter(isSilent);
  const go = (next: typeof view) => void navigate({ search: next === "now" ? {} : { view: next }, replace: true });
  return (
    <Page
      title="Alarms"
      note={phase === "ready" && <span>{lasting.length === 0 ? "none lasts" : `${plural(told.length, "alarm")} now`}</span>}
      keep
      actions={
        <Segmented
          label="Which alarms"
          value={view}
          options={[
            ["now", "Now"],
            ["past", "History"],
          ]}
          onChange={go}
        />
      }
    >
      {view === "past" ? (
        <Past />
      ) : (
        <>
          <Panel label="Alarms now" flush>
            {phase === "loading" ? (
              <Gray lines={3} wide={480} />
            ) : told.length > 0 ? (
              <AlarmList alarms={told} />
            ) : (
              <Empty title="Nothing is wrong">An alarm appears here the moment it is raised, and leaves when its cause is gone.</Empty>
            )}
          </Panel>
          {silent.length > 0 && (
            <Panel title="Silenced" note={plural(silent.length, "alarm")} flush>
              <AlarmList alarms={silent} />
            </Panel>
          )}
        </>
      )}
      {id && <AlarmSheet id={id} onClose={() => void navigate({ search: ({ id: _, ...rest }) => rest, replace: true })} />}
    </Page>
  );
}

/** Those that have resolved themselves, the newest first. */
function Past() {
  const now = useNow(10_000);
  const pages = useInfiniteQuery({
    queryKey: ["alarms", "past"],
    initialPageParam: "",
    queryFn: ({ pageParam }) => listAlarms({ pageToken: pageParam }),
    getNextPageParam: (last) => last.nextPageToken || undefined,
  });
  const list = pages.data?.pages.flatMap((p) => p.items).filter((a) => a.resolvedAt) ?? [];
  const rows: Live<AlarmRow>[] = list.map((a) => ({ ...rowOfAlarm(a, now), received: now }));
  const ended = new Map(list.map((a) => [a.id, a.resolvedAt ?? a.lastAt]));
  return (
    <Panel label="Alarms that have resolved" flush>
      {pages.error ? (
        <Failed error={pages.error} again={() => void pages.refetch()} />
      ) : !pages.data ? (
        <Gray lines={3} wide={480} />
      ) : rows.length === 0 ? (
        <Empty title="No alarm has resolved yet" />
      ) : (
        <AlarmList alarms={rows} ended={ended} />
      )}
      {pages.hasNextPage && (
        <div className={styles.older}>
          <Button small onPress={() => void pages.fetchNextPage()} isDisabled={pages.isFetching}>
            Show older alarms
          </Button>
        </div>
      )}
    </Panel>
  );
}
