import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { User } from "../api/documents";
import { listUsers } from "../api/users";
import { count, moment } from "../format";
import { Page } from "../shell/Page";
import { Button } from "../ui/controls";
import { Empty, Failed, Gray, Panel } from "../ui/Panel";
import { UserSheet } from "./UserSheet";
import styles from "./users.module.css";

/** Who may do what: roles for the whole fleet, and for single pools. */
export function Users() {
  const { id } = useSearch({ from: "/inside/users" });
  const navigate = useNavigate({ from: "/users" });
  const users = useInfiniteQuery({
    queryKey: ["users", "pages"],
    initialPageParam: "",
    queryFn: ({ pageParam }) => listUsers(pageParam),
    getNextPageParam: (last) => last.nextPageToken || undefined,
  });
  const rows = users.data?.pages.flatMap((p) => p.items) ?? [];
  const open = (user: string | undefined) => void navigate({ search: user ? { id: user } : {}, replace: true });
  const shown = rows.find((u) => u.id === id);
  return (
    <Page title="Users" note={users.data && <span>{`${count(rows.length)}${users.hasNextPage ? " so far" : ""}`}</span>}>
      <Panel label="Users" flush>
        {users.error ? (
          <Failed error={users.error} again={() => void users.refetch()} />
        ) : !users.data ? (
          <div className={styles.pad}>
            <Gray lines={4} wide={320} />
          </div>
        ) : rows.length === 0 ? (
          <Empty title="No user yet" />
        ) : (
          <List users={rows} onOpen={open} />
        )}
        {users.hasNextPage && (
          <div className={styles.more}>
            <Button small onPress={() => void users.fetchNextPage()} isDisabled={users.isFetching}>
              Show more users
            </Button>
          </div>
        )}
      </Panel>
      {shown && <UserSheet key={shown.id} user={shown} onClose={() => open(undefined)} />}
    </Page>
  );
}

function List({ users, onOpen }: { users: User[]; onOpen(id: string): void }) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Users and their roles</caption>
      <thead>
        <tr>
          <th scope="col">User</th>
          <th scope="col">For the fleet</th>
          <th scope="col">For single pools</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        {users.map((u) => (
          <tr key={u.id} data-user={u.name}>
            <th scope="row">
              <button type="button" className={styles.open} onClick={() => onOpen(u.id)}>
                {u.name}
              </button>
              <small>user {u.id}</small>
              {u.disabled && <small>disabled</small>}
            </th>
            <td>{u.roles.join(", ") || "none"}</td>
            <td>{u.grants.map((g) => `${g.role} of ${g.pool}`).join(", ")}</td>
            <td>{moment(u.createdAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
