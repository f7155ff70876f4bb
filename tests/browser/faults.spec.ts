import { expect, type Page } from "@playwright/test";
import { copied, elevenNodes, massLoss, quickLeases, takesNoWork } from "./faults";
import { Fleet } from "./fleet";
import { axeClean, signIn, test } from "./page";

const password = "correct horse battery";
let fleet: Fleet;

test.beforeEach(async () => {
  fleet = await Fleet.start(quickLeases);
  await fleet.setUp("admin", password);
});
test.afterEach(async ({ page }) => {
  await page.close(); // a page whose server ends says so
  await fleet?.stop();
});

const sheet = (page: Page) => page.getByRole("dialog");
const panel = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

test("what goes wrong with a fleet is told, with the way out", async ({ page, problems }) => {
  const options = await elevenNodes(fleet);
  await signIn(page, fleet.url, "admin", password);

  await test.step("a node on which nothing can be started says that it takes no work, and why", async () => {
    await takesNoWork(fleet, "edge-01");
    await page.goto(`${fleet.url}/nodes/edge-01`);
    await expect(page.getByText("unhealthy", { exact: true }).filter({ visible: true }).first()).toBeVisible();
    await expect(panel(page, "Session")).toContainText(/no: jobs can't be started there: .*no such file/);
    await expect(panel(page, "Running work")).toContainText(/It takes no work: jobs can't be started there/);
    await axeClean(page, "a node that takes no work");
  });

  await test.step("a copied state: quarantine, its claimants, and the repair", async () => {
    const copy = await copied(fleet, "edge-02", options);
    await page.goto(`${fleet.url}/nodes/edge-02`);
    await expect(panel(page, "Identity")).toContainText("quarantine");
    const claimants = panel(page, "Claimants");
    await expect(claimants.getByRole("listitem")).toHaveCount(2);
    await axeClean(page, "a node in quarantine");
    await claimants.getByRole("listitem").filter({ hasText: "has the newest state" }).getByRole("button", { name: "Keep" }).click();
    await expect(sheet(page)).toContainText("refused for good");
    await sheet(page).getByLabel("Reason, kept in the audit log").fill("the other one is a copy");
    await sheet(page).getByRole("button", { name: "Keep this one" }).click();
    await expect(claimants).toContainText("chosen: waits for its next session");
    await expect(panel(page, "Identity")).toContainText("is being changed");
    await fleet.restartAgent(copy); // it comes anew, as it would within a minute
    await expect(claimants).toHaveCount(0, { timeout: 60_000 });
    await expect(panel(page, "Identity")).toContainText(/rotated \d+s ago/);
    await expect(page.getByText("ready", { exact: true }).filter({ visible: true }).first()).toBeVisible();
  });

  await test.step("most of a pool falls silent: its work is kept, until somebody releases it", async () => {
    await massLoss(fleet, ["edge-04", "edge-05", "edge-06", "edge-07", "edge-08", "edge-09", "edge-10"]);
    await page.goto(`${fleet.url}/pools/pool-1`);
    const banner = page.locator("[data-mass-loss]");
    await expect(banner).toContainText(/Mass loss for \d+s: most nodes fell silent at once/);
    await expect(page.locator("[data-alarm=mass_loss]").first()).toBeVisible();
    await axeClean(page, "a mass loss");
    await banner.getByRole("button", { name: "Release" }).click();
    await sheet(page).getByRole("button", { name: "Release pool" }).click();
    await expect(banner).toHaveCount(0);
  });

  await test.step("the database stands still: the fleet is frozen, and says since when and until when", async () => {
    const goOn = fleet.pauseDatabase();
    const banner = page.locator("[data-frozen]");
    try {
      await expect(banner).toContainText(/Fleet frozen since \d\d:\d\d:\d\d: the database is away, so no node is lost\./);
      await axeClean(page, "a frozen fleet");
    } finally {
      goOn();
    }
    await expect(banner).toContainText(/the database was away, so no node is lost\. Leases run out again from \d\d:\d\d:\d\d on\./);
  });
  // While the database is away what is asked over REST is refused.
  expect(problems.filter((p) => !/503 \(Service Unavailable\)/.test(p))).toEqual([]);
  problems.length = 0;
});
