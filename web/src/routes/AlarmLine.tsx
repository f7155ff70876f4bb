import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { acknowledge } from "../api/watch";
import { count, duration, moment } from "../format";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { maySteer, useSession } from "../session";
import { Button } from "../ui/controls";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { toast } from "../ui/toasts";
import type { AlarmRow } from "../wire/messages";
import { about, inBrief, person } from "./alarm";
import styles from "./alarm.module.css";

type Row = Live<AlarmRow>;

export interface AlarmListProps {
  alarms: Row[];
  /** Each in a frame of its own color, as the head of a page. */
  tinted?: boolean;
  /** Two lines of a phone: the whole of it is one tap away. */
  brief?: boolean;
  /** On the pool's own page it need not be named. */
  without?: "pool";
  /** Opens what waits because of one, beside its button. */
  onWhy?(id: string): void;
  /** When each of them ended, of those that have. */
  ended?: ReadonlyMap<string, string>;
}

/** Alarms one below the other; each opens itself, its button acknowledges in place. */
export function AlarmList({ alarms, tinted, brief, without, onWhy, ended }: AlarmListProps) {
  return (
    <ul className={`${tinted ? styles.tinted : styles.list} ${brief ? styles.brief : ""}`} aria-label="Alarms">
      {alarms.map((a) => (
        <AlarmLine key={a.id} alarm={a} brief={brief} without={without} onWhy={onWhy} ended={ended?.get(a.id)} />
      ))}
    </ul>
  );
}

interface AlarmLineProps {
  alarm: Row;
  brief: boolean | undefined;
  without: "pool" | undefined;
  onWhy: ((id: string) => void) | undefined;
  ended: string | undefined;
}

function AlarmLine({ alarm: a, brief, without, onWhy, ended }: AlarmLineProps) {
  const now = useNow();
  return (
    <li data-alarm={a.kind} data-severity={a.severity}>
      <Glyph of={a.severity} label={a.severity} />
      <span className={styles.kind}>
        <Link to="/alarms" search={{ id: a.id }} className={styles.whole ?? ""}>
          {a.kind}
        </Link>{" "}
        <small>×{count(a.count)}</small>
      </span>
      <span className={styles.about}>{about(without ? { ...a, [without]: "" } : a)}</span>
      <span className={styles.detail} title={a.detail}>
        {brief ? inBrief(a) : a.detail}
      </span>
      <time>{duration(a.age_ms + (ended ? 0 : Math.max(0, now - a.received)))}</time>
      <span className={styles.act}>
        {onWhy && (
          <Button small onPress={() => onWhy(a.id)}>
            Why
          </Button>
        )}
        {ended ? <span className={styles.acked}>until {moment(ended)}</span> : <Acknowledge alarm={a} />}
      </span>
      <span className={styles.forward} aria-hidden="true">
        <Icon name="forward" />
      </span>
    </li>
  );
}

/** The button, or who has pressed it. */
export function Acknowledge({ alarm, large }: { alarm: Pick<AlarmRow, "id" | "kind" | "acked_by">; large?: boolean }): ReactNode {
  const session = useSession();
  const stale = useStale();
  const act = useMutation({
    mutationFn: () => acknowledge(alarm.id),
    onSuccess: () => toast(`${alarm.kind} is acknowledged.`),
    onError: (error) => toast(`Not acknowledged: ${error.message}`),
  });
  if (alarm.acked_by) return <span className={styles.acked}>ack {person(alarm.acked_by)}</span>;
  if (!maySteer(session)) return null;
  return (
    <Button small={!large} onPress={() => act.mutate()} isDisabled={act.isPending} why={stale ? "No word from the server" : undefined}>
      Acknowledge
    </Button>
  );
}
