import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getAlignment } from "../api/pools";
import { plural } from "../format";
import { Glyph } from "../ui/Glyph";
import { Failed, Panel } from "../ui/Panel";
import type { PoolRow } from "../wire/messages";
import { emptyPools, reachWords } from "./aligned";
import styles from "./fleet.module.css";

/** So many apps have a line of their own. */
const most = 3;

/** What will fail before a request does: apps without a node, nodes without an app. */
export function Aligned({ pools, all }: { pools: PoolRow[]; all?: boolean }) {
  const { data, error, refetch } = useQuery({ queryKey: ["alignment"], queryFn: getAlignment, refetchInterval: 30_000, staleTime: 10_000 });
  if (error && !data) {
    return (
      <Panel label="Alignment" flush>
        <Failed error={error} again={() => void refetch()} />
      </Panel>
    );
  }
  if (!data) return null;
  const empty = emptyPools(pools);
  const lines = all ? data.apps.length : most;
  const reach = reachWords(data.pools, pools);
  return (
    <Panel label="Alignment" flush>
      <ul className={styles.aligned}>
        {data.apps.slice(0, lines).map((a) => (
          <li key={`${a.app} ${a.role ?? ""}`}>
            <Glyph of="warning" label="warning" />
            <b>App without a node</b>
            <span>{a.text}</span>
            <Link to="/apps" search={{ app: a.app }} data-link>
              Open binding
            </Link>
          </li>
        ))}
        {data.apps.length > lines && (
          <li>
            <Glyph of="warning" label="warning" />
            <b>Apps without a node</b>
            <span>and {plural(data.apps.length - lines, "more")}</span>
            <Link to="/apps" data-link>
              Show all
            </Link>
          </li>
        )}
        <li>
          <Glyph of={reach.ok ? "succeeded" : "warning"} />
          <b>{empty.length > 0 ? "Pools without nodes" : "Pools and apps"}</b>
          <span>{[...(empty.length > 0 ? [empty.join(", ")] : []), reach.text].join("; ")}</span>
          <Link to="/" search={{ view: "table" }} data-link>
            Show
          </Link>
        </li>
      </ul>
    </Panel>
  );
}
