import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { createLicense } from "../api/calls";
import { duration } from "../format";
import { useNow, useStale } from "../live/live";
import type { Live } from "../live/store";
import { useSession } from "../session";
import { Columns } from "../shell/Page";
import { Button, Copy } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Glyph } from "../ui/Glyph";
import { Icon } from "../ui/Icon";
import { Failed, Panel } from "../ui/Panel";
import type { PoolRow } from "../wire/messages";
import styles from "./enroll.module.css";
import { kindWords, sum } from "./pool";

/** How a node joins: a license code, one command, the first heartbeat. */

const commands = [`rockpool-agent join ${location.origin}`, "rockpool-agent run"];

function Steps() {
  const session = useSession();
  const stale = useStale();
  const user = session?.user.id ?? "";
  const [since, setSince] = useState(0);
  const license = useMutation({
    mutationFn: () => createLicense({ user, nodes: 5, roles: ["worker", "edge"] }),
    onSuccess: () => setSince(Date.now()),
  });
  const code = license.data?.licenseCode;
  return (
    <ol className={styles.steps}>
      <li>
        <span className={code ? styles.done : styles.number}>{code ? <Icon name="check" size={14} /> : 1}</span>
        <h2>License code</h2>
        <p>
          Of {session?.user.name}, user {user}. Roles worker and edge, up to 5 nodes. Its nodes start in <b>pool-{user}</b>.
        </p>
        {code ? (
          <>
            <div className={styles.code}>
              <code>{code}</code>
              <Copy text={code} label="Copy the license code">
                Copy
              </Copy>
            </div>
            <p className={styles.once}>
              <Glyph of="warning" size={10} /> Shown once. Only its hash is stored; make another if it is lost.
            </p>
          </>
        ) : (
          <Button tone="primary" onPress={() => license.mutate()} isDisabled={license.isPending} why={stale ? "No word from the server" : undefined}>
            Make a code
          </Button>
        )}
        {license.error && <Failed error={license.error} />}
      </li>
      <li>
        <span className={`${styles.number} ${code ? styles.next : ""}`}>2</span>
        <h2>Join, on the machine</h2>
        <p>The code is asked for at a prompt, so that it never stands in a shell history or a process list.</p>
        {commands.map((command) => (
          <div key={command} className={styles.command}>
            <code>{command}</code>
            <Copy text={command} label="Copy the command" />
          </div>
        ))}
      </li>
      <li>
        <span className={styles.number}>3</span>
        <h2>First heartbeat</h2>
        <p>Appears here by itself, usually within 2 s of the start.</p>
        <div className={styles.waiting}>
          <Glyph of="queued" size={14} /> {code ? "Waiting for a node with this code" : "Waiting for a node"}
          {since > 0 && <Waited since={since} />}
        </div>
      </li>
    </ol>
  );
}

function Waited({ since }: { since: number }) {
  return <span className={styles.right}>{duration(useNow() - since)}</span>;
}

/** What a pool is there for, to who has just begun. */
function purpose(pool: PoolRow, user: string): string {
  if (pool.kind === "default") return "Jobs of apps without an owner";
  if (pool.kind === "unassigned") return "Nodes set aside";
  if (pool.kind === "named") return "Apps that are bound to it";
  return pool.id === `pool-${user}` ? "Your apps resolve here first" : "Its user's apps resolve here first";
}

/** What the agent says of itself, and how it becomes a service. */
const ways: [command: string, words: string][] = [
  ["rockpool-agent doctor", "Names a proxy, TLS interception, DNS or clock trouble."],
  ["rockpool-agent check", "Reads the configuration as a start would."],
  ["rockpool-agent status", "Says whether it is refused, and why."],
  ["sudo rockpool-agent install", "Makes it a service, so that it starts with the machine."],
];

/** The first run of a fleet: its empty state is the enrollment. */
export function Enroll({ pools }: { pools: Live<PoolRow>[] }) {
  const session = useSession();
  return (
    <Columns
      main={
        <Panel label="Enroll the first node" flush>
          <header className={styles.head}>
            <h2>Enroll the first node</h2>
            <p>Any machine with a way out to this server. It opens one outbound connection; nothing is opened in its firewall.</p>
          </header>
          <Steps />
        </Panel>
      }
      side={
        <>
          <Panel title="Pools" flush>
            <ul className={styles.pools}>
              {pools.map((p) => (
                <li key={p.id}>
                  <b>{p.id}</b> <span>{kindWords(p)}</span>
                  <span className={styles.right}>{sum(p.nodes)} nodes</span>
                  <p>{purpose(p, session?.user.id ?? "")}</p>
                </li>
              ))}
            </ul>
          </Panel>
          <Panel title="If it does not appear">
            <dl className={styles.ways}>
              {ways.map(([command, words]) => (
                <div key={command}>
                  <dt>
                    <code>{command}</code>
                  </dt>
                  <dd>{words}</dd>
                </div>
              ))}
            </dl>
          </Panel>
        </>
      }
    />
  );
}

export function AddNode({ onClose }: { onClose(): void }) {
  return (
    <Sheet title="Add node" open onClose={onClose}>
      <Steps />
    </Sheet>
  );
}
