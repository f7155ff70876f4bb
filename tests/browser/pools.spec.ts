import { expect, type Page } from "@playwright/test";
import { Fleet, until } from "./fleet";
import { axeClean, place, signIn, test } from "./page";

const password = "correct horse battery";
let fleet: Fleet;

test.beforeEach(async () => {
  fleet = await Fleet.start();
  await fleet.setUp("admin", password);
});
test.afterEach(async ({ page }) => {
  await page.close(); // a page whose server ends says so
  await fleet?.stop();
});

/** Nodes of user 1, ready. */
async function nodes(...ids: string[]) {
  const license = await fleet.license("1", 9);
  for (const id of ids) fleet.startAgent(id, { license, slots: 4 });
  for (const id of ids) await fleet.awaitLease(id, "ready");
}

/** The head's button on a desk; on a phone what has no room there stands in More. */
async function press(page: Page, phone: boolean, name: string) {
  if (phone) await page.getByRole("button", { name: "More" }).last().click();
  await page.getByRole("button", { name }).click();
}

/** An entry of the small menu of a page's head. */
async function choose(page: Page, name: string) {
  await page.locator("main header").getByRole("button", { name: "More" }).filter({ visible: true }).click();
  await page.getByRole("menuitem", { name }).click();
}

const sheet = (page: Page) => page.getByRole("dialog");
const row = (page: Page, id: string) => page.locator(`[data-row=${id}]`);

// axe looks for seconds a page, and a busy machine is slow.
test.setTimeout(480_000);

test("a pool: made, bound to, given nodes, exhausted, and all right again", async ({ page, problems }, info) => {
  const phone = info.project.name === "phone";
  await nodes("ams-edge-01", "ams-edge-02");
  await signIn(page, fleet.url, "admin", password);

  await test.step("create a pool: a canary until an app is bound to it", async () => {
    await expect(page.locator("[data-pool=pool-1]")).toContainText("2 ready");
    if (phone) await press(page, phone, "Create pool");
    else await choose(page, "Create pool");
    await sheet(page).getByLabel("Name").fill("gpu-big");
    await axeClean(page, "create pool");
    await sheet(page).getByRole("button", { name: "Create pool" }).click();
    await expect(page.getByRole("heading", { name: "gpu-big", level: 1 })).toBeVisible();
    await expect(page.getByText("C canary")).toBeVisible();
    await expect(page.getByText("No node is in this pool")).toBeVisible();
    await axeClean(page, "an empty pool");
  });

  await test.step("create an app and bind it", async () => {
    await page.goto(`${fleet.url}/apps`);
    await page.getByRole("button", { name: "Create app" }).click();
    await sheet(page).getByLabel("Name").fill("cam");
    await sheet(page).getByLabel("Owner").selectOption("1");
    await sheet(page).getByRole("button", { name: "Create app" }).click();
    await expect(sheet(page).getByText(/Work goes to pool-1, the pool of user 1/)).toBeVisible();
    await expect(sheet(page).getByText(/would take it/)).toBeVisible();
    await axeClean(page, "an app");
    await sheet(page).getByRole("button", { name: "Bind" }).click();
    await sheet(page).getByLabel("Add a pool").selectOption("pool-1");
    await sheet(page).getByLabel("Add a pool").selectOption("gpu-big");
    await sheet(page).getByRole("button", { name: "gpu-big earlier" }).click();
    await sheet(page).getByRole("button", { name: "Leave pool-1 out" }).click();
    await expect(sheet(page).getByRole("checkbox")).not.toBeChecked();
    await axeClean(page, "a binding");
    await sheet(page).getByRole("button", { name: "Save binding" }).click();
    await expect(sheet(page).getByText("gpu-big; fallback off")).toBeVisible();
    await expect(sheet(page).getByText(/nodes exist but in other pools/i)).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByText("App without a node")).toBeVisible();
    await axeClean(page, "apps");
  });

  await test.step("move nodes to it, after a dry run", async () => {
    await page.goto(`${fleet.url}/pools/pool-1`);
    await page.getByLabel("Select ams-edge-01").check();
    await page.getByLabel("Select ams-edge-02").check();
    await page.getByRole("button", { name: "Move", exact: true }).click();
    await sheet(page).getByLabel("To pool").selectOption("gpu-big");
    await sheet(page).getByLabel("Reason, kept in the audit log").fill("for cam");
    await expect(sheet(page).getByText(/dry run at/)).toBeVisible();
    await expect(sheet(page).getByText("gains 2 nodes").first()).toBeVisible();
    await axeClean(page, "move");
    await sheet(page).getByRole("button", { name: "Move 2 nodes" }).click();
    await expect(page.getByText("No node is in this pool")).toBeVisible();
    await page.goto(`${fleet.url}/pools/gpu-big`);
    await expect(row(page, "ams-edge-01")).toBeVisible();
    await expect(
      page
        .getByText("one app only")
        .or(page.getByText(/1 app /))
        .first(),
    ).toBeVisible();
    await expect(page.getByRole("row", { name: /cam/ })).toContainText("bound, first");
    await axeClean(page, "pool");
  });

  await test.step("exhausted: the alarm appears by itself, is acknowledged, and resolves itself", async () => {
    const { id } = await fleet.call<{ id: string }>("POST", "/v1/jobs", { app: "cam", runner: "score", demands: { slots: 9 } });
    const alarm = page.locator("[data-alarm=pool_exhausted]");
    await expect(alarm).toBeVisible();
    await expect(alarm).toContainText(/cam/);
    await expect(page.getByText("Queue", { exact: true })).toBeVisible();
    await expect(page.getByRole("link", { name: /2 slots/ })).toBeVisible();
    await axeClean(page, "an exhausted pool");
    await place(page, "Alarms").click();
    await page.getByRole("link", { name: "pool_exhausted" }).click();
    await expect(sheet(page).getByText("1 job waits")).toBeVisible();
    await axeClean(page, "an alarm");
    await sheet(page).getByRole("button", { name: "Acknowledge" }).click();
    await expect(sheet(page).getByText("ack admin")).toBeVisible();
    await sheet(page).getByLabel("For", { exact: true }).selectOption("8h");
    await sheet(page).getByRole("button", { name: "Silence", exact: true }).click();
    await expect(sheet(page).getByText(/by admin for 7h/)).toBeVisible();
    await sheet(page).getByRole("button", { name: "Tell it again" }).click();
    await expect(sheet(page).getByRole("button", { name: "Tell it again" })).toHaveCount(0);
    await sheet(page).getByRole("button", { name: "Close" }).last().click();
    await axeClean(page, "alarms");
    await fleet.call("POST", `/v1/jobs/${id}/cancel`, {});
    await expect(page.getByText("Nothing is wrong")).toBeVisible();
    await page.getByRole("button", { name: "History" }).click();
    await expect(page.locator("[data-alarm=pool_exhausted]")).toContainText("until");
    await axeClean(page, "alarms of the past");
  });

  await test.step("drain a node; what it takes away is agreed to", async () => {
    await page.goto(`${fleet.url}/pools/gpu-big`);
    await page.getByLabel("Select all 2 rows").check();
    await page.getByRole("button", { name: "Drain", exact: true }).click();
    const confirm = sheet(page).getByRole("button", { name: "Drain 2 nodes" });
    await expect(sheet(page).getByText("cam will have no usable node.")).toBeVisible();
    await expect(confirm).toBeDisabled();
    await sheet(page).getByRole("checkbox").check();
    await axeClean(page, "drain");
    await confirm.click();
    await expect(row(page, "ams-edge-01")).toContainText("draining");
    await expect(row(page, "ams-edge-02")).toContainText("draining");
  });

  await test.step("thresholds, and the pool's own state", async () => {
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await sheet(page).getByLabel("Queue wait").fill("5");
    await expect(sheet(page).getByRole("button", { name: "Save" })).toBeDisabled();
    await sheet(page).getByLabel("Queue wait").fill("5m");
    await axeClean(page, "thresholds");
    await sheet(page).getByRole("button", { name: "Save" }).click();
    await expect(page.getByText(/^5m, none waits longer/)).toBeVisible();
    await expect(page.getByText(/^\d\d:\d\d:\d\d by admin$/)).toBeVisible();
    await page.getByRole("button", { name: "Drain pool" }).click();
    await expect(sheet(page).getByRole("button", { name: "Drain pool" })).toBeDisabled();
    await sheet(page).getByLabel("Type gpu-big to confirm").fill("gpu-big");
    await expect(sheet(page).getByText(/dry run at/)).toBeVisible();
    await axeClean(page, "drain a pool");
    await sheet(page).getByRole("button", { name: "Drain pool" }).click();
    await expect(page.getByRole("button", { name: "Activate pool" })).toBeVisible();
  });

  await test.step("what is still referred to is not deleted, and the refusal names it", async () => {
    await choose(page, "Delete pool");
    await sheet(page).getByLabel("Type gpu-big to confirm").fill("gpu-big");
    await axeClean(page, "delete a pool");
    await sheet(page).getByRole("button", { name: "Delete pool" }).click();
    await expect(sheet(page).getByRole("alert")).toContainText(/cam/);
    await expect(sheet(page).getByRole("alert")).toContainText(/ams-edge-01/);
    await expect.poll(() => problems).toEqual([expect.stringContaining("409 (Conflict)")]);
    problems.pop();
  });
});

test("a canary pool: refused with the reasons, then promoted; and the audit of all that", async ({ page }, info) => {
  const phone = info.project.name === "phone";
  await nodes("hel-arm-01");
  await fleet.call("POST", "/v1/admin/node-pools", { id: "canary-arm" });
  await fleet.call("PUT", "/v1/admin/nodes/hel-arm-01/pool", { pool: "canary-arm" });
  await signIn(page, fleet.url, "admin", password);
  await page.goto(`${fleet.url}/pools/canary-arm`);

  await test.step("refused, with every reason", async () => {
    await page.getByRole("button", { name: "Promote" }).click();
    await sheet(page).getByLabel("To pool").selectOption("pool-1");
    await expect(sheet(page).getByRole("list", { name: "Checks" })).toContainText(/0 .*3|3 .*0/);
    await expect(sheet(page).getByRole("list", { name: "Checks" })).toContainText("hel-arm-01");
    await expect(sheet(page).getByRole("button", { name: "Promote 1 node" })).toBeDisabled();
    await axeClean(page, "promotion refused");
  });

  await test.step("promoted when they hold", async () => {
    const job = await fleet.call<{ id: string }>("POST", "/v1/jobs", { app: await canaryApp(), runner: "score", pool: "canary-arm" });
    await until("the canary job succeeds", async () => {
      const { state } = await fleet.call<{ state: string }>("GET", `/v1/jobs/${job.id}`);
      return state === "succeeded" ? true : undefined;
    });
    await sheet(page).getByLabel("Canary jobs that succeeded").fill("1");
    await sheet(page).getByLabel("Every node ready for").fill("");
    await sheet(page).getByLabel("No agent began anew in that time").uncheck();
    await expect(sheet(page).getByText("All checks hold.")).toBeVisible();
    await sheet(page).getByRole("button", { name: "Promote 1 node" }).click();
    await expect(page.getByText("No node is in this pool")).toBeVisible();
    await page.goto(`${fleet.url}/pools/pool-1`);
    await expect(row(page, "hel-arm-01")).toBeVisible();
  });

  await test.step("a record for a node that is to come", async () => {
    await page.getByRole("button", { name: "Add node" }).click();
    await sheet(page).getByRole("button", { name: "New node" }).click();
    await sheet(page).getByLabel("Name").fill("hel-arm-02");
    await axeClean(page, "add a node");
    await sheet(page).getByRole("button", { name: "Create node" }).click();
    await expect(sheet(page).getByText("Shown once.")).toBeVisible();
    await sheet(page).getByRole("button", { name: "Done" }).click();
    await expect(row(page, "hel-arm-02")).toContainText("new");
  });

  await test.step("a node comes from another pool, and goes back", async () => {
    await page.goto(`${fleet.url}/pools/canary-arm`);
    await page.getByRole("button", { name: "Add node" }).click();
    await sheet(page).getByLabel("Find").fill("arm-01");
    await sheet(page).getByLabel("Choose hel-arm-01").check();
    await axeClean(page, "nodes of other pools");
    await sheet(page).getByRole("button", { name: "Try 1 node" }).click();
    await expect(sheet(page).getByLabel("To pool")).toHaveValue("canary-arm");
    await expect(sheet(page).getByText(/dry run at/)).toBeVisible();
    await sheet(page).getByRole("checkbox").check();
    await sheet(page).getByRole("button", { name: "Move 1 node" }).click();
    await expect(row(page, "hel-arm-01")).toBeVisible();
    await fleet.call("PUT", "/v1/admin/nodes/hel-arm-01/pool", { pool: "pool-1" });
    await expect(row(page, "hel-arm-01")).toHaveCount(0);
  });

  await test.step("an empty pool that nothing refers to is deleted", async () => {
    await page.goto(`${fleet.url}/pools/canary-arm`);
    await choose(page, "Delete pool");
    await sheet(page).getByLabel("Type canary-arm to confirm").fill("canary-arm");
    await sheet(page).getByRole("button", { name: "Delete pool" }).click();
    await expect(page.getByRole("heading", { name: "Fleet", level: 1 })).toBeVisible();
    await expect(page.locator("[data-pool=canary-arm]")).toHaveCount(0);
  });

  await test.step("the audit names it, is whole, and proves the isolation", async () => {
    if (phone) await page.goto(`${fleet.url}/audit`);
    else await place(page, "Audit").click();
    await page.getByLabel("Filter entries").fill("action:pool_deleted ");
    await page.getByRole("button", { name: "pool_deleted", exact: true }).click();
    await expect(sheet(page).getByText("canary-arm").first()).toBeVisible();
    await axeClean(page, "an entry");
    await page.keyboard.press("Escape");
    await axeClean(page, "audit");
    await page.getByRole("button", { name: "Verify" }).click();
    await expect(sheet(page).getByText(/^Whole: \d+ entries/)).toBeVisible();
    await sheet(page).getByRole("button", { name: "Prove" }).click();
    await expect(sheet(page).getByText("It holds: 0 crossings.")).toBeVisible();
    await axeClean(page, "verify");
  });
});

test("a role for one pool: its holder sees and steers that one", async ({ page }, info) => {
  await nodes("ams-edge-07");
  await fleet.call("POST", "/v1/admin/users", { name: "vera", roles: ["user"], password });
  await signIn(page, fleet.url, "admin", password);
  await page.goto(`${fleet.url}/users`);
  await page.getByRole("button", { name: "vera" }).click();
  await sheet(page).getByLabel("Role").selectOption("operator");
  await sheet(page).getByLabel("Pool", { exact: true }).selectOption("pool-1");
  await sheet(page).getByRole("button", { name: "Grant" }).click();
  await axeClean(page, "a user");
  await sheet(page).getByRole("button", { name: "Save roles" }).click();
  await expect(page.locator("[data-user=vera]")).toContainText("operator of pool-1");
  await axeClean(page, "users");
  await press(page, info.project.name === "phone", "Sign out");

  await signIn(page, fleet.url, "vera", password);
  await page.getByRole("link", { name: "pool-1", exact: true }).click();
  await page.getByLabel("Select ams-edge-07").check();
  await expect(page.getByRole("toolbar").getByRole("button", { name: "Move" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Add node" })).toHaveCount(0);
  await page.getByRole("toolbar").getByRole("button", { name: "Cordon" }).click();
  await expect(sheet(page).getByText(/dry run at/)).toBeVisible();
  await sheet(page).getByRole("button", { name: "Cordon 1 node" }).click();
  await expect(row(page, "ams-edge-07")).toContainText("cordon, ");
});

async function canaryApp(): Promise<string> {
  await fleet.app("canary", "1");
  return "canary";
}
