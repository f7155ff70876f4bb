import { useQuery } from "@tanstack/react-query";
import { getNode } from "../api/calls";
import { moment } from "../format";
import { useStale } from "../live/live";
import { plainText } from "../text";
import { Empty, Facts, Failed, Gray, Panel } from "../ui/Panel";
import type { NodeRow } from "../wire/messages";
import { inventoryRows } from "./inventory";

/** What a node says that it has; looked at anew with each session, and every minute. */
export function NodeInventory({ node }: { node: NodeRow }) {
  const stale = useStale();
  const record = useQuery({
    queryKey: ["node-inventory", node.id, node.epoch],
    queryFn: () => getNode(node.id),
    enabled: !stale,
    refetchInterval: stale ? false : 60_000,
    placeholderData: (old) => old,
  });
  const told = record.data?.inventory;
  if (record.error && !record.data) {
    return (
      <Panel title="Inventory" flush>
        <Failed error={record.error} again={() => void record.refetch()} />
      </Panel>
    );
  }
  if (!record.data) {
    return (
      <Panel title="Inventory">
        <Gray lines={3} wide={240} />
      </Panel>
    );
  }
  if (!told) {
    return (
      <Panel title="Inventory" flush>
        <Empty title="None yet">The agent tells what it has when its session opens.</Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Inventory" side={told.stale ? "a part is stale" : `changed ${moment(told.at)}`}>
      <Facts rows={inventoryRows(told).map(([label, lines]) => [label, <Lines key={label} list={lines} />])} />
    </Panel>
  );
}

function Lines({ list }: { list: string[] }) {
  return list.map((line) => <div key={line}>{plainText(line)}</div>);
}
