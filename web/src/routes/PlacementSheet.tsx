import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Refusal } from "../api/client";
import type { Placement, PlacementNode } from "../api/documents";
import { getPlacement, releasePlacement } from "../api/work";
import { duration, moment, plural, shortId } from "../format";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { plainText } from "../text";
import { Button, Copy } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph, State } from "../ui/Glyph";
import { Empty, Facts, Failed, Gray } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { PlacementRow } from "../wire/messages";
import { Confirm } from "./Confirm";
import styles from "./placement.module.css";

/** Until it expires, counted down from when the row came. */
export const leftOf = (p: Live<PlacementRow>, now: number) => Math.max(0, p.left_ms - Math.max(0, now - p.received));

export interface PlacementSheetProps {
  id: string;
  /** As it is now; nothing when it has ended. */
  row: Live<PlacementRow> | undefined;
  onClose(): void;
}

/** One placement: where its client goes, until when, and its release. */
export function PlacementSheet({ id, row, onClose }: PlacementSheetProps) {
  const stale = useStale();
  const [asking, setAsking] = useState(false);
  const placement = useQuery({ queryKey: ["placement", id, row?.state ?? "ended"], queryFn: () => getPlacement(id), placeholderData: (old) => old });
  const release = useMutation({
    mutationFn: () => releasePlacement(id),
    onSuccess: () => {
      toast(`${shortId(id)} is released.`);
      onClose();
    },
  });
  const p = placement.data;
  const none = placement.error instanceof Refusal && placement.error.status === 404;
  const foot = asking ? (
    <Confirm text="Release it" busy={release.isPending} onClose={() => setAsking(false)} onConfirm={() => release.mutate()} />
  ) : (
    row && (
      <Button tone="danger" onPress={() => setAsking(true)} why={stale ? "No word from the server" : undefined}>
        Release
      </Button>
    )
  );
  return (
    <Sheet title={asking ? "Release placement" : shortId(id)} open onClose={onClose} foot={foot}>
      {placement.error && !p ? (
        none ? (
          <Empty title="There is no such placement, or it is not yours to see" />
        ) : (
          <Failed error={placement.error} again={() => void placement.refetch()} />
        )
      ) : !p ? (
        <Gray lines={5} wide={320} />
      ) : asking ? (
        <p>
          {plural(p.nodes.length, "node")} and {plural(p.slots * p.nodes.length, "slot")} of {p.app} become free at once. Whoever uses its endpoints is not
          told; the next ask for {p.key ? `the key ${plainText(p.key)}` : "one"} gets a new placement.
        </p>
      ) : (
        <Detail p={p} row={row} />
      )}
      {release.error && <Failed error={release.error} />}
    </Sheet>
  );
}

function Detail({ p, row }: { p: Placement; row: Live<PlacementRow> | undefined }) {
  const now = useNow();
  const state = row?.state ?? p.state;
  return (
    <>
      <Facts
        rows={[
          ["State", <State key="s" of={state} />],
          ["App", p.app],
          ["Role", p.role],
          ["Key", p.key ? plainText(p.key) : "none"],
          ...(p.purpose ? ([["Purpose", plainText(p.purpose)]] as [string, string][]) : []),
          ["Slots", p.nodes.length > 1 ? `${p.slots} on each of ${p.nodes.length} nodes` : p.slots],
          ["Since", moment(p.createdAt)],
          row ? ["Expires", `in ${duration(leftOf(row, now))}, unless it is renewed`] : ["Ended", p.endedAt ? moment(p.endedAt) : "now"],
          [
            "Id",
            <span key="i" title={p.id}>
              <code>{shortId(p.id)}</code> <Copy text={p.id} label="Copy the placement's id" />
            </span>,
          ],
        ]}
      />
      {state === "draining" && (
        <p className={styles.notice}>
          <Glyph of="draining" /> A node of it is being drained: it works on, but ask for a new one before the node goes.
        </p>
      )}
      <section className={styles.part}>
        <h3>{plural(p.nodes.length, "node")}, by rank</h3>
        <ol className={styles.nodes}>
          {p.nodes.map((n) => (
            <NodeOf key={n.id} node={n} />
          ))}
        </ol>
      </section>
      {p.decision?.text && (
        <section className={styles.part}>
          <h3>Why these</h3>
          <p>
            {p.decision.text}
            {p.fallback && " It is there as fallback."}
          </p>
        </section>
      )}
    </>
  );
}

function NodeOf({ node }: { node: PlacementNode }) {
  const endpoints = Object.entries(node.endpoints ?? {});
  return (
    <li>
      <span className={styles.line}>
        <Glyph of={node.lease} label={node.lease} />
        <Link to="/nodes/$id" params={{ id: node.id }} className="mono">
          {node.id}
        </Link>
        <span className={styles.pool}>{node.pool}</span>
      </span>
      {endpoints.map(([name, value]) => (
        <span key={name} className={styles.endpoint}>
          <span>{plainText(name)}</span>
          <code>{plainText(value)}</code>
          <Copy text={value} label={`Copy the endpoint ${name} of ${node.id}`} />
        </span>
      ))}
      {endpoints.length === 0 && <span className={styles.quiet}>It registered no endpoint.</span>}
    </li>
  );
}
