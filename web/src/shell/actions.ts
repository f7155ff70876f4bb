import { leave } from "../session";
import type { Theme } from "../theme";
import { toast } from "../ui/toasts";

/** The event that opens the palette, wherever it is asked for. */
export const openPalette = "rockpool:palette";

export function signOutNow() {
  leave().catch(() => toast("Signing out failed: the server does not answer."));
}

export const themeNames: Record<Theme, string> = { auto: "as the machine", light: "light", dark: "dark" };
