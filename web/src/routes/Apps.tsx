import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { AppBindings } from "../api/documents";
import { listBindings } from "../api/pools";
import { count } from "../format";
import { useStale, useTopic } from "../live/live";
import { Page } from "../shell/Page";
import { Button } from "../ui/controls";
import { QuickFilter } from "../ui/fields";
import { Glyph } from "../ui/Glyph";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import { Aligned } from "./Aligned";
import { AppSheet } from "./AppSheet";
import styles from "./apps.module.css";
import { sentence } from "./binding";
import { CreateAppSheet } from "./CreateApp";

/** Where each app's work goes, in plain words, and what will fail before a request does. */
export function Apps() {
  const { q = "", app } = useSearch({ from: "/inside/apps" });
  const navigate = useNavigate({ from: "/apps" });
  const stale = useStale();
  const pools = useTopic("pools").rows;
  const [creating, setCreating] = useState(false);
  const apps = useInfiniteQuery({
    queryKey: ["bindings"],
    initialPageParam: "",
    queryFn: ({ pageParam }) => listBindings(pageParam),
    getNextPageParam: (last) => last.nextPageToken || undefined,
    refetchInterval: stale ? false : 10_000,
  });
  const rows = apps.data?.pages.flatMap((p) => p.items) ?? [];
  const words = q.toLowerCase();
  const shown = rows.filter((a) => `${a.app} user ${a.owner ?? ""} ${a.resolutions.flatMap((r) => r.pools).join(" ")}`.toLowerCase().includes(words));
  const open = (id: string | undefined) => void navigate({ search: { ...(q && { q }), ...(id && { app: id }) }, replace: true });
  return (
    <Page
      title="Apps and bindings"
      note={apps.data && <span>{`${count(rows.length)}${apps.hasNextPage ? " so far" : ""}`}</span>}
      keep
      actions={
        <>
          <QuickFilter
            label="Filter apps"
            hint="App, user 7, pool"
            value={q}
            onChange={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
          />
          <Button tone="primary" icon="plus" onPress={() => setCreating(true)} why={stale ? "No word from the server" : undefined}>
            Create app
          </Button>
        </>
      }
    >
      <Aligned pools={pools} all />
      <Panel label="Apps" flush>
        {apps.error && !apps.data ? (
          <Failed error={apps.error} again={() => void apps.refetch()} />
        ) : !apps.data ? (
          <div className={styles.pad}>
            <Gray lines={4} wide={480} />
          </div>
        ) : shown.length === 0 ? (
          <Empty title={rows.length === 0 ? "No app yet" : `No app matches “${q}”`}>
            {rows.length === 0 ? "Work belongs to an app: create one, and say whose it is." : "Change the filter at the top."}
          </Empty>
        ) : (
          <AppTable apps={shown} onOpen={open} />
        )}
        {apps.hasNextPage && (
          <div className={styles.more}>
            <Button small onPress={() => void apps.fetchNextPage()} isDisabled={apps.isFetching}>
              Show more apps
            </Button>
          </div>
        )}
      </Panel>
      {app && <AppSheet key={app} app={app} onClose={() => open(undefined)} />}
      {creating && <CreateAppSheet onClose={() => setCreating(false)} onDone={open} />}
    </Page>
  );
}

function AppTable({ apps, onOpen }: { apps: AppBindings[]; onOpen(app: string): void }) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Apps and where their work goes</caption>
      <thead>
        <tr>
          <th scope="col">App</th>
          <th scope="col">Where its work goes</th>
          <th scope="col">Fallback</th>
          <th scope="col" data-number>
            Usable nodes
          </th>
        </tr>
      </thead>
      <tbody>
        {apps.map((a) => (
          <tr key={a.app} data-app={a.app}>
            <th scope="row">
              <button type="button" className={styles.open} onClick={() => onOpen(a.app)}>
                {a.app}
              </button>
              <small>{a.owner ? `user ${a.owner}` : "no owner"}</small>
            </th>
            <td>
              {a.resolutions.map((r) => (
                <p key={r.role}>{sentence(r.text)}</p>
              ))}
            </td>
            <td>
              {a.resolutions.map((r) => (
                <p key={r.role}>{r.fallbackAllowed ? "allowed" : "off"}</p>
              ))}
            </td>
            <td data-number>
              {a.resolutions.map((r) => (
                <p key={r.role}>
                  {r.usable === 0 && <Glyph of="critical" label="none is usable" />} {count(r.usable)}
                </p>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
