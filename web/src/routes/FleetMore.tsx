import { useStale } from "../live/live";
import { Menu } from "../ui/floating";
import { Icon } from "../ui/Icon";

/** What is seldom done to the whole fleet; menus come after the first page. */
export function FleetMore({ onCreate }: { onCreate(): void }) {
  const stale = useStale();
  return (
    <Menu label="More" entries={[{ id: "create", text: "Create pool", onAction: onCreate, off: stale }]}>
      <Icon name="more" />
    </Menu>
  );
}
