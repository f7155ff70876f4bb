import { AxeBuilder } from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";

/** Every page of a test is watched: an error on its console, or anything that the content policy stopped, fails it. */

export interface Watched {
  problems: string[];
}

/** What is the same code on a phone, or what a phone does not do. */
export const deskOnly = "@desk";

/** Chromium tells of every request that failed; a test that means it says which. */
const expected = /Failed to load resource|WebSocket connection to/;

export function watch(page: Page, problems: string[], forgive = /^$/): void {
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    const text = `${message.type()}: ${message.text()} ${message.location().url}`;
    if (!forgive.test(text)) problems.push(text);
  });
}

/** While the server is away requests fail, and Chromium says so. */
export const serverAway = expected;

export const test = base.extend<{ problems: string[]; forgive: RegExp }>({
  /** What a test expects on the console beside nothing. */
  forgive: [/^$/, { option: true }],
  problems: async ({ page, forgive }, use) => {
    const problems: string[] = [];
    // The question who is signed in is answered with 401 to those who are not.
    watch(page, problems, new RegExp(`401 \\(Unauthorized\\).*/v1/session|${forgive.source}`));
    await use(problems);
    expect(problems).toEqual([]);
  },
});

/** A sheet that takes another's place is no dialog to axe for a moment: it looks until the page stands. */
export async function axeClean(page: Page, what: string): Promise<void> {
  await expect(async () => {
    // Without frames it need not gather what they say in a page of its own, which takes as long again.
    // Nor need it describe what is all right.
    const { violations } = await new AxeBuilder({ page })
      .setLegacyMode()
      .options({ resultTypes: ["violations"] })
      .analyze();
    const told = violations.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary ?? ""}`).join(" | ")}`);
    expect(told).toEqual([]);
  }).toPass({ timeout: 30_000 });
}

/** A page's entry in the sidebar or the bottom bar, whichever is there. */
export function place(page: Page, name: string) {
  return page
    .getByRole("navigation")
    .getByRole("link", { name: new RegExp(`^${name}`) })
    .filter({ visible: true });
}

export async function signIn(page: Page, url: string, name: string, password: string): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Fleet", level: 1 })).toBeVisible();
}
