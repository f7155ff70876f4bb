import { expect } from "@playwright/test";
import { Fleet } from "./fleet";
import { axeClean, deskOnly, place, signIn, test } from "./page";

const password = "correct horse battery";
const ids = ["ams-edge-01", "ams-edge-02", "ams-edge-03"];
let fleet: Fleet;

test.beforeEach(async ({ page }) => {
  fleet = await Fleet.start();
  await fleet.setUp("admin", password);
  const license = await fleet.license("1", 4);
  for (const id of ids) fleet.startAgent(id, { license });
  for (const id of ids) await fleet.awaitLease(id, "ready");
  await fleet.app("cam", "1");
  await signIn(page, fleet.url, "admin", password);
});
test.afterEach(async ({ page }) => {
  await page.close();
  await fleet?.stop();
});

test("nodes are chosen and drained together, after the server has tried it", { tag: deskOnly }, async ({ page, problems }) => {
  await place(page, "Nodes").click();
  const table = page.getByRole("table", { name: "Nodes" });
  await expect(table).toContainText("ams-edge-03");
  await page.getByLabel("Select ams-edge-01").check();
  await page.getByLabel("Select ams-edge-03").click({ modifiers: ["Shift"] });
  const bar = page.getByRole("toolbar", { name: "Selected nodes" });
  await expect(bar).toContainText("3 selected");
  await page.getByLabel("Select ams-edge-02").focus();
  await page.keyboard.press("x");
  await expect(bar).toContainText("2 selected");
  await expect(page.getByText("Order frozen while rows are selected")).toBeVisible();
  await axeClean(page, "nodes, selected");

  await bar.getByRole("button", { name: "Drain" }).click();
  const sheet = page.getByRole("dialog");
  await expect(sheet.getByRole("heading", { name: "Drain 2 nodes" })).toBeVisible();
  await sheet.getByLabel("Work may run for").selectOption("10m");
  await expect(sheet.getByText("one node left")).toBeVisible();
  await axeClean(page, "drain");

  // A third node goes meanwhile: tried anew, an app loses its last ones.
  await fleet.call("POST", "/v1/admin/nodes/ams-edge-02/cordon", { reason: "meanwhile" });
  await sheet.getByRole("button", { name: "Run again" }).click();
  const lost = sheet.getByRole("checkbox", { name: "cam will have no usable node. Its fallback is off." });
  await expect(lost).toBeVisible();
  await expect(sheet.getByRole("button", { name: "Drain 2 nodes" })).toBeDisabled();
  await lost.check();
  await sheet.getByLabel("Reason, kept in the audit log").fill("new kernel");
  await sheet.getByRole("button", { name: "Drain 2 nodes" }).click();
  await expect(page.getByText("2 nodes are draining.")).toBeVisible();
  await expect(bar).toHaveCount(0);
  await expect(page.getByRole("row", { name: /ams-edge-01/ })).toContainText(/drain (9|10)m, admin/);

  await place(page, "Fleet").click();
  const card = page.locator("[data-pool=pool-1]");
  await expect(card).toContainText("2 draining");
  await expect(card).toContainText("1 cordoned");
  await axeClean(page, "fleet");
  await page.getByRole("button", { name: "Table" }).click();
  await expect(page).toHaveURL(/view=table/);
  await expect(page.locator("[data-pool=pool-1]")).toContainText("0 of 12");
  await axeClean(page, "fleet, table");

  // Work that no node could ever take: the alarm stands on top, and is acknowledged in place.
  await page.getByRole("button", { name: "Cards" }).click();
  await fleet.call("POST", "/v1/jobs", { app: "cam", runner: "score", params: { seconds: 1 }, demands: { slots: 64 } });
  const alarm = page.locator("[data-alarm=pool_exhausted]").filter({ visible: true });
  await expect(alarm).toContainText("pool-1, cam, worker");
  await expect(card).toContainText("pool_exhausted ×1");
  await expect(place(page, "Alarms")).toContainText(/[1-9]/);
  await axeClean(page, "fleet, alarm");
  await alarm.getByRole("button", { name: "Acknowledge" }).click();
  await expect(alarm).toContainText("ack admin");
  expect(problems).toEqual([]);
});

test("a node is held and let go again, with who and until when", async ({ page, problems }) => {
  await page.goto(`${fleet.url}/nodes/ams-edge-01`);
  await page.getByRole("button", { name: "Drain" }).click();
  const sheet = page.getByRole("dialog");
  await sheet.getByLabel("Work may run for").selectOption("1h");
  await sheet.getByRole("button", { name: "Drain 1 node" }).click();
  await expect(page.getByText(/drain (59m|1h), admin/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Drain" })).toHaveCount(0);
  await axeClean(page, "node, held");
  await page.getByRole("button", { name: "Lift" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Uncordon" }).click();
  await expect(page.getByRole("button", { name: "Drain" })).toBeEnabled();
  expect(problems).toEqual([]);
});
