import { Link, Outlet } from "@tanstack/react-router";
import { Refusal } from "../api/client";
import { Button } from "../ui/controls";
import { Toasts } from "../ui/toasts";
import { Front } from "./Front";

/** Around every page. */
export function RootFrame() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

/** The console itself could not be opened. */
export function RootFailure({ error }: { error: unknown }) {
  const refusal = error instanceof Refusal ? error : null;
  return (
    <Front title={refusal ? "The server does not answer" : "The console could not be opened"}>
      <p>{refusal ? refusal.detail : "A reload may help. If it does not, the browser's console says what broke."}</p>
      <Button tone="primary" onPress={() => location.reload()}>
        Try again
      </Button>
    </Front>
  );
}

export function Unknown() {
  return (
    <Front title="There is no such page">
      <Link to="/">Go to the fleet</Link>
    </Front>
  );
}
