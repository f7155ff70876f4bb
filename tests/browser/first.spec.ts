import { expect } from "@playwright/test";
import { Fleet } from "./fleet";
import { axeClean, deskOnly, place, serverAway, signIn, test, watch } from "./page";
import { desk, chromium as options } from "./playwright.config";

const password = "correct horse battery";
let fleet: Fleet;

test.beforeEach(async () => {
  fleet = await Fleet.start();
});
test.afterEach(async ({ page }) => {
  await page.close(); // a page whose server ends says so
  await fleet?.stop();
});

test("from the setup link to a node set aside, and out again", async ({ page, browser, problems }, info) => {
  const phone = info.project.name === "phone";

  await test.step("set up", async () => {
    await page.goto(fleet.setupLink);
    await expect(page).not.toHaveURL(/token/);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByLabel("Password, again").fill(password);
    await axeClean(page, "setup");
    await page.getByRole("button", { name: "Set up" }).click();
    await expect(page.getByRole("heading", { name: "Enroll the first node" })).toBeVisible();
    await axeClean(page, "first run");
  });

  await test.step("sign in", async () => {
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ name: "__Host-rockpool", httpOnly: true, secure: true, sameSite: "Strict", path: "/" }]);
    await fleet.signIn("admin", password);
    await page.context().clearCookies();
    await page.reload();
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    await axeClean(page, "sign in");
    await signIn(page, fleet.url, "admin", password);
  });

  const license = await test.step("a license code", async () => {
    await page.getByRole("button", { name: "Make a code" }).click();
    const code = page.getByText(/^RPL-/);
    await expect(code).toBeVisible();
    return (await code.textContent()) ?? "";
  });

  await test.step("watch a node come", async () => {
    fleet.startAgent("lis-edge-11", { license, labels: { note: "<img src=x onerror=alert(1)>", ["__proto__"]: "\u202egnp.exe" } });
    await expect(page.locator("[data-pool=pool-1]")).toContainText("1 ready", { timeout: 30_000 });
    await axeClean(page, "fleet");
    await place(page, "Nodes").click();
    await expect(page.getByRole("table", { name: "Nodes" })).toContainText("lis-edge-11");
    await axeClean(page, "nodes");
  });

  await test.step("run a job and read why it runs there", async () => {
    await fleet.app("cam", "1");
    const { id } = await fleet.call<{ id: string }>("POST", "/v1/jobs", { app: "cam", runner: "score", params: { seconds: 2 } });
    await page.goto(`${fleet.url}/jobs`);
    await page
      .getByRole("link", { name: new RegExp(id.slice(0, 13)) })
      .first()
      .click();
    await expect(page.getByText("lis-edge-11 had the most free slots")).toBeVisible();
    await expect(page.getByText(/No binding, so pool-1 of its owner/)).toBeVisible();
    await expect(page.getByText("succeeded").filter({ visible: true }).first()).toBeVisible({ timeout: 20_000 });
    await expect(page.getByText("92.5447")).toBeVisible();
    await expect(page.getByRole("link", { name: "frames.txt" })).toBeVisible();
    const log = page.getByRole("region", { name: "Log, text" });
    await expect(log).toContainText('red <b id="markup">bold</b> turned');
    await expect(page.locator("#markup")).toHaveCount(0);
    await axeClean(page, "job");
  });

  await test.step("move it to unassigned; a second browser sees it within a second", async () => {
    const second = await browser.newContext({ ...desk, ...options });
    const other = await second.newPage();
    watch(other, problems, /401 \(Unauthorized\)/);
    await signIn(other, fleet.url, "admin", password);
    await place(other, "Nodes").click();
    await expect(other.getByRole("table", { name: "Nodes" })).toContainText("pool-1");

    await page.goto(`${fleet.url}/nodes/lis-edge-11`);
    await expect(page.getByText("note=<img src=x onerror=alert(1)>")).toBeVisible();
    await expect(page.getByText("__proto__=gnp.exe")).toBeVisible();
    await expect(page.getByText(/, seat 1 of 5$/)).toBeVisible();
    await expect(page.getByText(/^never rotated, /)).toBeVisible();
    await expect(page.getByRole("link", { name: /^All 1 since \d\d:\d\d$/ })).toBeVisible();
    await axeClean(page, "node");
    await page.getByRole("button", { name: "Move" }).click();
    await page.getByLabel("Reason, kept in the audit log").fill("disk replacement");
    const lost = page.getByRole("checkbox", { name: /cam will have no usable node/ });
    await expect(lost).toBeVisible();
    await expect(page.getByText("loses its only node")).toBeVisible();
    await expect(page.getByRole("button", { name: "Move 1 node" })).toBeDisabled();
    await lost.check();
    await axeClean(page, "move");
    await page.getByRole("button", { name: "Move 1 node" }).click();
    await expect(other.getByRole("row", { name: /lis-edge-11/ })).toContainText("unassigned", { timeout: 1_000 });
    await expect(page.getByRole("link", { name: "unassigned" })).toBeVisible();
    await second.close();
  });

  await test.step("cordon and uncordon", async () => {
    await page.getByRole("button", { name: "Cordon" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cordon 1 node" }).click();
    await expect(page.getByText("cordoned").filter({ visible: true }).first()).toBeVisible();
    await page.getByRole("button", { name: "Uncordon" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Uncordon" }).click();
    await expect(page.getByText("ready").filter({ visible: true }).first()).toBeVisible();
  });

  await test.step("what is not there says so", async () => {
    await page.goto(`${fleet.url}/nodes/nobody`);
    await expect(page.getByText("There is no such node, or it is not yours to see")).toBeVisible();
    await page.goto(`${fleet.url}/nodes?q=region%3Amoon`);
    await page.getByRole("button", { name: "Drop region:moon" }).last().click();
    await expect(page.getByRole("table", { name: "Nodes" })).toContainText("lis-edge-11");
  });

  await test.step("keys", async () => {
    if (phone) return;
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await expect(page.getByRole("heading", { name: "Jobs", level: 1 })).toBeVisible();
    await page.keyboard.press("/");
    await expect(page.getByLabel("Filter jobs")).toBeFocused();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Search or run").fill("lis-");
    await axeClean(page, "palette");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "lis-edge-11", level: 1 })).toBeVisible();
  });

  await test.step("sign out", async () => {
    if (phone) await page.getByRole("button", { name: "More" }).last().click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    expect(await page.context().cookies()).toEqual([]);
  });
});

test("a server that is killed: stale with its age, actions off, live again by itself", { tag: deskOnly }, async ({ page }) => {
  const problems: string[] = [];
  watch(page, problems, new RegExp(`${serverAway.source}|401`));
  await fleet.setUp("admin", password);
  fleet.startAgent("ams-edge-03", { license: await fleet.license("1") });
  await fleet.awaitLease("ams-edge-03", "ready");
  await signIn(page, fleet.url, "admin", password);
  await page.goto(`${fleet.url}/nodes/ams-edge-03`);
  await expect(page.getByRole("button", { name: "Cordon" })).toBeEnabled();

  await fleet.killServer();
  await expect(page.getByText(/No word from the server for \d+s/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Cordon" })).toBeDisabled();
  await expect(page.getByRole("button", { name: "Move" })).toBeDisabled();
  await expect(page.getByRole("heading", { name: "ams-edge-03" })).toBeVisible();

  await fleet.startServer();
  await expect(page.getByText(/No word from the server/)).toHaveCount(0, { timeout: 40_000 });
  await expect(page.getByRole("button", { name: "Cordon" })).toBeEnabled();
  expect(problems).toEqual([]);
});

test("a node that is killed leaves ready within 26 s, without a reload", { tag: deskOnly }, async ({ page, problems }) => {
  await fleet.setUp("admin", password);
  fleet.startAgent("ams-edge-04", { license: await fleet.license("1") });
  await fleet.awaitLease("ams-edge-04", "ready");
  await signIn(page, fleet.url, "admin", password);
  await place(page, "Nodes").click();
  const row = page.getByRole("row", { name: /ams-edge-04/ });
  await expect(row).toContainText("ready");
  await fleet.killAgent("ams-edge-04");
  await expect(row).toContainText(/suspect|lost/, { timeout: 26_000 });
  expect(problems).toEqual([]);
});

test("a viewer sees the fleet and changes nothing; a user sees what is theirs", { tag: deskOnly }, async ({ page, problems }) => {
  await fleet.setUp("admin", password);
  fleet.startAgent("ams-edge-05", { license: await fleet.license("1") });
  await fleet.awaitLease("ams-edge-05", "ready");
  await fleet.call("POST", "/v1/admin/users", { name: "vera", roles: ["viewer"], password });
  await fleet.call("POST", "/v1/admin/users", { name: "uli", roles: ["user"], password });

  await signIn(page, fleet.url, "vera", password);
  await expect(page.locator("[data-pool=pool-1]")).toContainText("1 ready");
  await expect(page.getByRole("button", { name: "Add node" })).toHaveCount(0);
  await page.goto(`${fleet.url}/nodes/ams-edge-05`);
  await expect(page.getByText("Running work")).toBeVisible();
  await expect(page.getByRole("button", { name: /Cordon|Move/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Sign out" }).click();

  await signIn(page, fleet.url, "uli", password);
  await expect(page.locator("[data-pool]").first()).toBeVisible();
  await expect(page.locator("[data-pool=pool-1]")).toHaveCount(0);
  await page.goto(`${fleet.url}/nodes/ams-edge-05`);
  await expect(page.getByText("There is no such node, or it is not yours to see")).toBeVisible();
  expect(problems).toEqual([]);
});
