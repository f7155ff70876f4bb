import { useNavigate } from "@tanstack/react-router";
import { useLink } from "../live/live";
import { isSuperadmin, rolesOf, useSession } from "../session";
import { nextTheme, setTheme, useTheme } from "../theme";
import { Button } from "../ui/controls";
import { Sheet } from "../ui/floating";
import { Facts } from "../ui/Panel";
import { openPalette, signOutNow, themeNames } from "./actions";
import { type Place, placesFor } from "./places";

/** What has no room in the bottom bar of a phone. */
export function More({ onClose }: { onClose(): void }) {
  const session = useSession();
  const theme = useTheme();
  const { welcome } = useLink();
  const navigate = useNavigate();
  const search = () => {
    onClose();
    dispatchEvent(new Event(openPalette));
  };
  const go = (to: Place) => {
    onClose();
    void navigate({ to });
  };
  const begin = (what: { add: true } | { create: true }) => {
    onClose();
    void navigate({ to: "/", search: what });
  };
  return (
    <Sheet title={session?.user.name ?? ""} open onClose={onClose}>
      <Facts
        rows={[
          ["Role", session && rolesOf(session).join(", ")],
          ["Server", welcome?.version ?? "unknown"],
        ]}
      />
      <Button icon="search" onPress={search}>
        Search or run
      </Button>
      {isSuperadmin(session) && (
        <>
          <Button icon="plus" onPress={() => begin({ add: true })}>
            Add node
          </Button>
          <Button icon="plus" onPress={() => begin({ create: true })}>
            Create pool
          </Button>
        </>
      )}
      {placesFor(session)
        .flatMap((g, i) => (i === 0 ? g.places.filter((p) => p.more) : g.places))
        .map((p) => (
          <Button key={p.to} icon={p.icon} onPress={() => go(p.to)}>
            {p.text}
          </Button>
        ))}
      <Button icon="sun" onPress={() => setTheme(nextTheme[theme])}>
        Theme: {themeNames[theme]}
      </Button>
      <Button onPress={signOutNow}>Sign out</Button>
    </Sheet>
  );
}
