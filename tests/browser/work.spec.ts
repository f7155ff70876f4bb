import { expect, type Page } from "@playwright/test";
import { Fleet, until } from "./fleet";
import { axeClean, deskOnly, place, signIn, test } from "./page";

const password = "correct horse battery";
let fleet: Fleet;

test.beforeEach(async ({ page }) => {
  fleet = await Fleet.start();
  await fleet.setUp("admin", password);
  const license = await fleet.license("1", 4);
  for (const id of ["ams-edge-01", "ams-edge-02"]) fleet.startAgent(id, { license });
  for (const id of ["ams-edge-01", "ams-edge-02"]) await fleet.awaitLease(id, "ready");
  await fleet.app("cam", "1");
  await signIn(page, fleet.url, "admin", password);
});
test.afterEach(async ({ page }) => {
  await page.close(); // a page whose server ends says so
  await fleet?.stop();
});

interface Job {
  id: string;
  state: string;
  reason: string | null;
}

const submit = (seconds: number, over: Record<string, unknown> = {}) =>
  fleet.call<Job>("POST", "/v1/jobs", { app: "cam", runner: "score", params: { seconds }, ...over });

const becomes = (id: string, what: string, is: (job: Job) => boolean) =>
  until(`job ${id} ${what}`, async () => (is(await fleet.call<Job>("GET", `/v1/jobs/${id}`)) ? true : undefined));

const sheet = (page: Page) => page.getByRole("dialog");

/** An action of a job: a button on a desk, in the menu of a phone. */
async function act(page: Page, phone: boolean, name: string) {
  if (!phone) return page.getByRole("button", { name, exact: true }).click();
  await page.locator("main header").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name }).click();
}

// axe looks for seconds a page, and a busy machine is slow.
test.setTimeout(480_000);

test("placements come, say where their client goes, and are released", async ({ page, problems }, info) => {
  const phone = info.project.name === "phone";
  if (phone) await page.getByRole("button", { name: "More" }).last().click();
  await (phone ? page.getByRole("button", { name: "Placements" }) : place(page, "Placements")).click();
  await expect(page.getByText("No placement lasts")).toBeVisible();
  await axeClean(page, "placements, empty");

  await fleet.call("POST", "/v1/placements", { app: "cam", role: "worker", key: "stream-42", slots: 2, count: 2, ttl: "10m" });
  await expect(page.getByText("stream-42").filter({ visible: true })).toBeVisible();
  if (!phone) await expect(place(page, "Placements")).toContainText("1");
  await axeClean(page, "placements");
  await page.getByText("stream-42").filter({ visible: true }).click();
  await expect(sheet(page)).toContainText("https://ams-edge-01.example.net/whip");
  await expect(sheet(page)).toContainText("2 on each of 2 nodes");
  await expect(sheet(page)).toContainText(/in (9m \d\ds|10m 00s), unless it is renewed/);
  await axeClean(page, "placement");

  // A node of it is drained: the row says so without a reload.
  await fleet.call("POST", "/v1/admin/nodes/ams-edge-02/drain", { reason: "kernel", deadline: "10m" });
  await expect(sheet(page)).toContainText("A node of it is being drained");
  await sheet(page).getByRole("button", { name: "Release" }).click();
  await expect(sheet(page)).toContainText("2 nodes and 4 slots of cam become free at once.");
  await sheet(page).getByRole("button", { name: "Release it" }).click();
  await expect(page.getByText("No placement lasts")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a person decides about a held job, and retries one that has ended", async ({ page, problems }, info) => {
  const phone = info.project.name === "phone";
  const job = await submit(280, { onNodeLost: "hold", maxAttempts: 2 });
  await becomes(job.id, "runs", (j) => j.state === "running");
  const { node } = await fleet.call<{ node: string }>("GET", `/v1/jobs/${job.id}`);
  await fleet.killAgent(node);
  await fleet.call("POST", `/v1/admin/nodes/${node}/revoke`, { reason: "stolen" });
  await becomes(job.id, "is held", (j) => j.reason === "held");
  await page.goto(`${fleet.url}/jobs/${job.id}`);
  await expect(page.getByText("held", { exact: true }).filter({ visible: true }).first()).toBeVisible();
  await axeClean(page, "held job");
  await act(page, phone, "Resolve");
  await sheet(page).getByRole("button", { name: "Let it fail" }).first().click();
  await axeClean(page, "resolve");
  await sheet(page).getByRole("button", { name: "Let it fail" }).last().click();
  await expect(page.getByText("failed", { exact: true }).filter({ visible: true }).first()).toBeVisible();
  await expect(page.getByText(/held/).filter({ visible: true }).first()).toBeVisible(); // in the ledger

  await act(page, phone, "Retry");
  await sheet(page).getByRole("button", { name: "Retry" }).click();
  await expect(page).not.toHaveURL(new RegExp(job.id));
  await expect(page.getByText("Retry of")).toBeVisible();
  await page.getByRole("link", { name: job.id.slice(0, 13) }).click();
  await expect(page).toHaveURL(new RegExp(job.id));
  expect(problems).toEqual([]);
});

test.describe("a job whose page is open while it ends", () => {
  // It may end between the question why it waits and the answer.
  test.use({ forgive: /409 \(Conflict\).*\/explain$/ });

  test("a job that waits says where it stands and what would help", async ({ page, problems }) => {
    await submit(280, { demands: { slots: 2 } });
    await submit(280, { demands: { slots: 2 } });
    await fleet.call("POST", "/v1/admin/nodes/ams-edge-02/cordon", { reason: "kernel" });
    await submit(1, { demands: { slots: 3 } });
    const waiting = await submit(1, { demands: { slots: 4 }, queueTimeout: "1h" });
    await page.goto(`${fleet.url}/jobs/${waiting.id}`);
    const panel = (name: string) => page.getByRole("region", { name });
    await expect(panel("Place in the queue")).toContainText("2 of 2 of cam");
    await expect(panel("Place in the queue")).toContainText("none waiting");
    await expect(panel("What would help")).toContainText("2 more free slots on ams-edge-01");
    await expect(panel("What would help")).toContainText("Ask for 2 slots or fewer");
    await expect(panel("Since submit")).toContainText("queued");
    await axeClean(page, "waiting job");
    const small = await submit(0);
    await becomes(small.id, "succeeds", (j) => j.state === "succeeded");
    await expect(panel("Place in the queue")).toContainText("1 later job passed it");
    await expect(panel("Since submit")).toContainText("passed by 1 later job of cam");
    await fleet.call("POST", `/v1/jobs/${waiting.id}/cancel`, {});
    await expect(page.getByText("canceled", { exact: true }).filter({ visible: true }).first()).toBeVisible();

    // What a hold alone keeps from a node, its end lets in.
    await fleet.call("POST", "/v1/admin/nodes/ams-edge-01/cordon", { reason: "kernel" });
    const held = await submit(0);
    await page.goto(`${fleet.url}/jobs/${held.id}`);
    await expect(panel("Since submit")).toContainText("queued: 2 cordoned");
    await panel("What would help").getByRole("button", { name: "Lift cordon" }).click();
    await sheet(page).getByRole("button", { name: "Uncordon" }).click();
    await becomes(held.id, "succeeds", (j) => j.state === "succeeded");
    expect(problems).toEqual([]);
  });
});

test("jobs that were chosen are canceled, and no other", { tag: deskOnly }, async ({ page, problems }) => {
  const first = await submit(280);
  const second = await submit(280);
  const waiting = await submit(1, { demands: { slots: 20 } });
  await place(page, "Jobs").click();
  for (const job of [first, waiting]) await page.getByLabel(`Select ${job.id}`).check();
  const later = await submit(280);
  const bar = page.getByRole("toolbar", { name: "Selected jobs" });
  await expect(bar).toContainText("2 selected");
  await axeClean(page, "jobs, selected");
  await bar.getByRole("button", { name: "Cancel jobs" }).click();
  await expect(sheet(page).getByRole("list", { name: "Jobs to cancel" }).getByRole("listitem")).toHaveCount(2);
  await axeClean(page, "cancel jobs");
  await sheet(page).getByRole("button", { name: "Cancel 2 jobs" }).click();
  for (const job of [first, waiting]) await becomes(job.id, "is canceled", (j) => j.state === "canceled");
  for (const job of [second, later]) await becomes(job.id, "runs on", (j) => j.state === "running");
  await expect(page.getByRole("row", { name: /canceled/ })).toHaveCount(2);
  expect(problems).toEqual([]);
});

test("the log of a running job comes by itself, and stays when it ends", async ({ page, problems }) => {
  const job = await submit(280);
  await page.goto(`${fleet.url}/jobs/${job.id}`);
  const live = page.getByRole("region", { name: "Log, live" });
  await expect(live).toContainText("bold</b> turned", { timeout: 30_000 });
  expect((await fleet.call<Job>("GET", `/v1/jobs/${job.id}`)).state).toBe("running");
  await axeClean(page, "a log that is written");
  await fleet.call("POST", `/v1/jobs/${job.id}/cancel`, { grace: "0s" });
  await expect(page.getByRole("region", { name: "Log, text" })).toContainText("bold</b> turned");
  await expect(live).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("an app gets another share", async ({ page, problems }) => {
  await page.goto(`${fleet.url}/apps?app=cam`);
  await expect(sheet(page)).toContainText("100, of the work that waits for the same pool");
  await sheet(page).getByRole("button", { name: "Change share" }).click();
  await sheet(page).getByLabel("Weight").fill("0");
  await expect(sheet(page).getByRole("button", { name: "Change share" })).toBeDisabled();
  await sheet(page).getByLabel("Weight").fill("300");
  await sheet(page).getByLabel("Most slots").fill("40");
  await axeClean(page, "share");
  await sheet(page).getByRole("button", { name: "Change share" }).click();
  await expect(sheet(page)).toContainText("300, of the work that waits for the same pool");
  await expect(sheet(page)).toContainText("40");
  const app = await fleet.call<{ share: { weight: number; maxSlots: number } }>("GET", "/v1/apps/cam");
  expect(app.share).toMatchObject({ weight: 300, maxSlots: 40 });
  expect(problems).toEqual([]);
});
