import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { cordon, drain, moveNode, tryNodes } from "../api/calls";
import type { ImpactRequest } from "../api/documents";
import { count, plural } from "../format";
import { useTopic } from "../live/live";
import type { Live } from "../live/store";
import { isSuperadmin, useSession } from "../session";
import { nodeState } from "../state";
import { Field, Segmented } from "../ui/controls";
import { Select } from "../ui/fields";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Panel";
import { toast } from "../ui/toasts";
import type { NodeRow } from "../wire/messages";
import styles from "./actions.module.css";
import { Confirm, reasonLabel } from "./Confirm";
import { Consent, WouldDo } from "./DryRun";
import { type Chosen, chosenOf, done, errorWords, type NodeAct, news, titleOf, verbs, workWords } from "./nodeact";
import { byPlace } from "./pool";

type Row = Live<NodeRow>;

const deadlines: [value: string, text: string][] = [
  ["", "as long as it takes"],
  ["5m", "5 minutes"],
  ["10m", "10 minutes"],
  ["30m", "30 minutes"],
  ["1h", "1 hour"],
  ["4h", "4 hours"],
];

export interface NodesSheetProps {
  /** What is chosen first; the sheet can be switched. */
  act: NodeAct;
  /** The selection, fixed from now on: whatever arrives later is not part of it. */
  nodes: Row[];
  /** Where they are moved to, until another pool is chosen. */
  to?: string;
  onClose(): void;
  /** All of it was done. */
  onDone?(): void;
}

/** Moves, drains or cordons nodes, after the server has tried what that would do. */
export function NodesSheet({ act: first, nodes, to: into = "unassigned", onClose, onDone }: NodesSheetProps) {
  const session = useSession();
  const [act, setAct] = useState(first);
  const [chosen, setChosen] = useState(() => nodes.map(chosenOf));
  const [to, setTo] = useState(into);
  const [deadline, setDeadline] = useState("");
  const [reason, setReason] = useState("");
  const [agreed, setAgreed] = useState(false);
  const live = useTopic("nodes").byId;
  const now = chosen.map((c) => live.get(c.id)).filter((n) => n !== undefined);
  const state = now.map((n) => chosenOf(n).stamp).join(" ");
  const ids = chosen.map((c) => c.id);
  const body: ImpactRequest = { action: act, nodes: ids, ...(act === "move" && { pool: to }) };
  const run = useQuery({
    queryKey: ["dry run", "nodes", body, state],
    queryFn: ({ signal }) => tryNodes(body, signal).then((impact) => ({ impact })),
    placeholderData: (before) => before,
    gcTime: 0,
    staleTime: 0,
  });
  const doIt = useMutation({
    mutationFn: () => oneByOne(chosen, (c) => send(act, c.id, live.get(c.id)?.version ?? c.version, { to, deadline, reason })),
    onSuccess: (left) => {
      if (left.length > 0) {
        setChosen((all) => all.filter((c) => left.some((l) => l.id === c.id)));
        return;
      }
      toast(done(act, ids, to));
      onDone?.();
      onClose();
    },
  });
  const failed = doIt.data?.filter((l) => ids.includes(l.id)) ?? [];
  const pool = mostOf(chosen.map((c) => c.pool));
  const lost = run.data?.impact.apps.some((a) => a.before > 0 && a.after === 0);
  const verb = verbs[act];
  const off =
    run.isFetching || run.isPlaceholderData || !run.data
      ? "The dry run is not through"
      : lost && !agreed
        ? "Agree to it first"
        : act === "move" && chosen.every((c) => c.pool === to)
          ? `They are in ${to}`
          : undefined;
  const change = news(chosen, now);
  return (
    <Sheet
      title={titleOf(act, chosen)}
      open
      onClose={onClose}
      foot={
        <>
          <Consent impact={run.data?.impact} agreed={agreed} onAgree={setAgreed} />
          <Confirm
            text={`${verb} ${plural(chosen.length, "node")}`}
            busy={doIt.isPending}
            off={doIt.isPending ? undefined : off}
            note={`Selection is fixed. ${plural(chosen.length, "audit entry", "audit entries")}.`}
            onClose={onClose}
            onConfirm={() => doIt.mutate()}
          />
        </>
      }
    >
      <Segmented label="What to do" value={act} options={acts(isSuperadmin(session))} onChange={setAct} wide />
      <ul className={styles.chosen} aria-label="Selection">
        {now.slice(0, shown).map((n) => (
          <Chip key={n.id} node={n} onDrop={chosen.length > 1 ? () => setChosen((all) => all.filter((c) => c.id !== n.id)) : undefined} />
        ))}
        {chosen.length > shown && <li className={styles.rest}>and {plural(chosen.length - shown, "more node")}</li>}
      </ul>
      <div className={act === "cordon" ? undefined : styles.fields}>
        {act === "move" && <ToPool value={to} onChange={setTo} />}
        {act === "drain" && <Select label="Work may run for" value={deadline} options={deadlines} onChange={setDeadline} />}
        <Field label={reasonLabel} name="reason" value={reason} onChange={setReason} />
      </div>
      {change && <p className={styles.note}>{change}</p>}
      <WouldDo run={run} pool={pool} work={(n) => workWords(act, n, pool, deadline)} />
      {failed.map((l) => (
        <Failed key={l.id} error={errorWords(l)} />
      ))}
    </Sheet>
  );
}

const shown = 12;

function acts(superadmin: boolean): [NodeAct, string][] {
  const list: [NodeAct, string][] = [
    ["move", "Move"],
    ["drain", "Drain"],
    ["cordon", "Cordon"],
  ];
  return superadmin ? list : list.slice(1);
}

function Chip({ node, onDrop }: { node: Row; onDrop: (() => void) | undefined }) {
  const state = nodeState(node);
  return (
    <li>
      <Glyph of={state} size={10} label={state} />
      <code title={node.id}>{node.id}</code>
      <span data-figures>
        {count(node.slots_used)}/{count(node.slots_total)}
      </span>
      {onDrop && (
        <button type="button" aria-label={`Leave ${node.id} out`} onClick={onDrop}>
          <Icon name="close" size={12} />
        </button>
      )}
    </li>
  );
}

function ToPool({ value, onChange }: { value: string; onChange(pool: string): void }) {
  const pools = useTopic("pools").rows.toSorted(byPlace);
  return <Select label="To pool" value={value} options={pools.map((p) => [p.id, p.id] as const)} onChange={onChange} />;
}

function send(act: NodeAct, id: string, version: number, o: { to: string; deadline: string; reason: string }): Promise<unknown> {
  if (act === "move") return moveNode(id, o.to, o.reason, version);
  return act === "drain" ? drain(id, o.deadline, o.reason, version) : cordon(id, o.reason, version);
}

/** One after the other; gives those that were refused, with why. */
async function oneByOne(chosen: Chosen[], one: (c: Chosen) => Promise<unknown>) {
  const left: { id: string; error: unknown }[] = [];
  for (const c of chosen) {
    try {
      await one(c);
    } catch (error) {
      left.push({ id: c.id, error });
    }
  }
  return left;
}

/** The pool that most of them are in. */
function mostOf(pools: string[]): string {
  const counts = new Map<string, number>();
  for (const p of pools) counts.set(p, (counts.get(p) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}
