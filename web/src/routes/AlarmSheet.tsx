import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Alarm } from "../api/documents";
import { getAlarm, silence } from "../api/watch";
import { count, duration, moment, plural, shortId } from "../format";
import { useNow, useStale } from "../live/live";
import { isSuperadmin, maySteer, useSession } from "../session";
import { Button, Field } from "../ui/controls";
import { Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { State } from "../ui/Glyph";
import { Facts, Failed, Gray } from "../ui/Panel";
import { toast } from "../ui/toasts";
import { Acknowledge } from "./AlarmLine";
import { person, rowOfAlarm } from "./alarm";
import styles from "./alarm.module.css";

/** One alarm: since when, what waits for it, and what people can do about being told. */
export function AlarmSheet({ id, onClose }: { id: string; onClose(): void }) {
  const stale = useStale();
  const now = useNow();
  const alarm = useQuery({
    queryKey: ["alarm", id],
    queryFn: () => getAlarm(id),
    refetchInterval: (query) => (stale || query.state.data?.resolvedAt ? false : 2_000),
  });
  const a = alarm.data;
  return (
    <Sheet
      title={a?.kind ?? "Alarm"}
      open
      onClose={onClose}
      foot={
        <>
          <Button onPress={onClose}>Close</Button>
          {a && !a.resolvedAt && <Acknowledge alarm={rowOfAlarm(a, now)} large />}
        </>
      }
    >
      {alarm.error ? <Failed error={alarm.error} again={() => void alarm.refetch()} /> : a ? <Body alarm={a} now={now} /> : <Gray lines={5} wide={320} />}
    </Sheet>
  );
}

function Body({ alarm: a, now }: { alarm: Alarm; now: number }) {
  const session = useSession();
  const row = rowOfAlarm(a, now);
  return (
    <>
      <p>
        <State of={a.severity} strong />
      </p>
      <p>{a.detail}</p>
      <Facts
        rows={[
          ["About", <Scope key="s" alarm={a} />],
          ["Raised", `${moment(a.raisedAt)}, ${a.resolvedAt ? "lasted" : "for"} ${duration(row.age_ms)}`],
          ["Seen", `${plural(a.count, "time")}, last ${moment(a.lastAt)}`],
          ["Resolved", a.resolvedAt ? `by itself, ${moment(a.resolvedAt)}` : "not yet; it resolves by itself"],
          ["Acknowledged", a.acknowledgedBy ? `${person(a.acknowledgedBy)}, ${moment(a.acknowledgedAt ?? a.lastAt)}` : "by nobody"],
          ["Silenced", row.silenced_for_ms > 0 ? `by ${person(a.silencedBy ?? "")} for ${duration(row.silenced_for_ms)} more` : "no"],
        ]}
      />
      {a.waitingNow > 0 && <WaitingJobs alarm={a} />}
      {maySteer(session) && <Silence alarm={a} silent={row.silenced_for_ms > 0} />}
    </>
  );
}

function Scope({ alarm: a }: { alarm: Alarm }) {
  const session = useSession();
  if (!a.pool && !a.node && !a.app) return <>the fleet</>;
  return (
    <span className={styles.scope}>
      {a.pool && (
        <Link to="/pools/$id" params={{ id: a.pool }} data-link>
          {a.pool}
        </Link>
      )}
      {a.node && (
        <Link to="/nodes/$id" params={{ id: a.node }} className="mono" data-link>
          {a.node}
        </Link>
      )}
      {a.app && isSuperadmin(session) ? (
        <Link to="/apps" search={{ app: a.app }} data-link>
          {a.app}
        </Link>
      ) : (
        a.app
      )}
      {a.role && <span>{a.role}</span>}
    </span>
  );
}

function WaitingJobs({ alarm: a }: { alarm: Alarm }) {
  const more = a.waitingNow - a.waiting.length;
  return (
    <section className={styles.part}>
      <h3>{plural(a.waitingNow, "job waits", "jobs wait")}</h3>
      <ul className={styles.waiting}>
        {a.waiting.map((id) => (
          <li key={id}>
            <Link to="/jobs/$id" params={{ id }} className="mono" title={id}>
              {shortId(id)}
            </Link>
          </li>
        ))}
        {more > 0 && <li className={styles.quiet}>and {count(more)} more</li>}
      </ul>
    </section>
  );
}

const spans = [
  ["1h", "1 hour"],
  ["8h", "8 hours"],
  ["24h", "1 day"],
  ["168h", "7 days"],
] as const;

function Silence({ alarm: a, silent }: { alarm: Alarm; silent: boolean }) {
  const queries = useQueryClient();
  const stale = useStale();
  const [span, setSpan] = useState("1h");
  const [reason, setReason] = useState("");
  const act = useMutation({
    mutationFn: (forSpan: string) => silence(a.id, forSpan, reason),
    onSuccess: (next) => {
      queries.setQueryData(["alarm", a.id], next);
      void queries.invalidateQueries({ queryKey: ["alarms"] });
      toast(next.silencedUntil ? `${a.kind} is silent until ${moment(next.silencedUntil)}.` : `${a.kind} is told again.`);
    },
  });
  const why = stale ? "No word from the server" : undefined;
  return (
    <section className={styles.part}>
      <h3>Silence</h3>
      <p className={styles.quiet}>It is kept from the fleet's page for that long, also when it is raised anew. It goes on, and it resolves by itself.</p>
      <Field label="Reason, kept in the audit log" name="reason" value={reason} onChange={setReason} />
      <div className={styles.row}>
        <Select label="For" value={span} options={spans} onChange={setSpan} />
        {silent && (
          <Button onPress={() => act.mutate("0s")} isDisabled={act.isPending} why={why}>
            Tell it again
          </Button>
        )}
        <Button onPress={() => act.mutate(span)} isDisabled={act.isPending} why={why}>
          Silence
        </Button>
      </div>
      {act.error && <Failed error={act.error} />}
    </section>
  );
}
