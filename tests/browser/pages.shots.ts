import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { copied, elevenNodes, massLoss, quickLeases, takesNoWork } from "./faults";
import { Fleet, until } from "./fleet";
import { signIn } from "./page";

/** Every page in both themes, of a fleet that has something of everything. */

const password = "correct horse battery";
const out = new URL("out/shots/", import.meta.url).pathname;

interface Job {
  id: string;
  state: string;
}

async function submit(fleet: Fleet, app: string, seconds: number, over: Record<string, unknown> = {}): Promise<Job> {
  return fleet.call<Job>("POST", "/v1/jobs", { app, runner: "score", params: { seconds }, ...over });
}

const ended = (fleet: Fleet, id: string) =>
  until(`job ${id} ends`, async () => {
    const job = await fleet.call<Job>("GET", `/v1/jobs/${id}`);
    return ["succeeded", "failed"].includes(job.state) ? true : undefined;
  });

/** A fleet with nodes in every state and jobs that run, wait and have ended. */
async function populate(fleet: Fleet) {
  await fleet.app("cam-7", "1");
  await fleet.app("chat");
  const license = await fleet.license("1", 20);
  const nodes: [string, number, string][] = [
    ["ams-edge-01", 4, "eu-west"],
    ["ams-edge-02", 8, "eu-west"],
    ["ber-worker-01", 16, "eu-central"],
    ["fra-edge-02", 8, "eu-central"],
    ["hel-arm-01", 8, "eu-north"],
    ["lis-edge-11", 12, "eu-south"],
  ];
  for (const [id, slots, region] of nodes) fleet.startAgent(id, { license, slots, region, labels: { rack: "14" } });
  for (const [id] of nodes) await fleet.awaitLease(id, "ready");
  await fleet.call("PUT", "/v1/admin/nodes/ber-worker-01/pool", { pool: "default", reason: "shared" });
  await fleet.call("PUT", "/v1/admin/nodes/hel-arm-01/pool", { pool: "unassigned", reason: "new disk" });
  await fleet.call("POST", "/v1/admin/nodes/fra-edge-02/cordon", { reason: "kernel update" });
  await fleet.call("POST", "/v1/admin/node-pools", { id: "canary-arm" });
  await fleet.call("PUT", "/v1/admin/nodes/ams-edge-01/pool", { pool: "canary-arm", reason: "new agent" });
  await fleet.call("PUT", "/v1/admin/app-pool-bindings/chat", { role: "worker", pools: ["pool-1", "default"], allowFallbackToDefault: false });
  await fleet.app("thumbs", "1");
  const done = await submit(fleet, "cam-7", 0);
  await submit(fleet, "cam-7", 0, { runner: "checksum", params: {}, inputs: {} }).catch(() => undefined);
  for (let i = 0; i < 6; i++) await submit(fleet, "cam-7", 280, { priority: 40 + i });
  const running = await submit(fleet, "cam-7", 280, { demands: { slots: 2 } });
  for (let i = 0; i < 5; i++) await submit(fleet, "chat", 280);
  const waiting = await submit(fleet, "cam-7", 1, { demands: { slots: 7 } });
  await submit(fleet, "cam-7", 1); // it passes
  for (let i = 0; i < 3; i++) await submit(fleet, "cam-7", 1, { demands: { slots: 20 } }); // no node of the pool could ever take it
  await ended(fleet, done.id);
  await fleet.killAgent("lis-edge-11");
  await fleet.awaitLease("lis-edge-11", "suspect"); // what it had placed would end with it
  for (const key of ["stream-42", "stream-7", "studio"]) {
    await fleet.call("POST", "/v1/placements", { app: key === "studio" ? "cam-7" : "chat", role: "worker", key, purpose: "an origin", ttl: "30m" });
  }
  return { done, running, waiting };
}

/** Pools, alarms, apps and the audit, each with its sheets. */
async function controlPages(page: Page, fleet: Fleet, project: string) {
  const open = async (path: string, text: string | RegExp) => {
    await page.goto(fleet.url + path);
    await expect(page.getByText(text).filter({ visible: true }).first()).toBeVisible();
    await page.waitForLoadState("networkidle");
  };
  // The curve marks a drain between two points, of which one is kept every minute.
  const kept = () => fleet.call<{ items: unknown[] }>("GET", "/v1/pools/pool-1/history");
  await until("a point of pool-1 is kept", async () => ((await kept()).items.length > 1 ? true : undefined), 90_000);
  await fleet.call("POST", "/v1/admin/nodes/fra-edge-02/drain", { reason: "kernel update" });
  await open("/pools/pool-1", "owner's pool");
  await expect(page.getByText(/^drain of 1 node/)).toBeVisible({ timeout: 90_000 }); // the curve begins with the second minute
  await expect(page.locator("[data-alarm=pool_exhausted]").first()).toBeVisible();
  await shoot(page, "pool", project);
  await page.getByLabel("Select ams-edge-02").check();
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await expect(page.getByText(/dry run at/)).toBeVisible();
  await shoot(page, "pool-dryrun", project);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Drain pool" }).click();
  await expect(page.getByText(/dry run at/)).toBeVisible();
  await shoot(page, "pool-drain", project);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add node" }).click();
  await shoot(page, "pool-add", project);
  await open("/pools/canary-arm", "Nothing resolves here");
  await page.getByRole("button", { name: "Promote" }).click();
  await expect(page.getByText(/dry run at/)).toBeVisible();
  await shoot(page, "pool-promote", project);
  await open("/placements", "stream-42");
  await shoot(page, "placements", project);
  await page.getByText("stream-42").filter({ visible: true }).first().click();
  await expect(page.getByText("by rank")).toBeVisible();
  await shoot(page, "placement", project);
  await open("/alarms", "pool_exhausted");
  await shoot(page, "alarms", project);
  await page.getByRole("link", { name: "pool_exhausted" }).first().click();
  await expect(page.getByText(/jobs? waits?$/)).toBeVisible();
  await shoot(page, "alarm", project);
  await open("/apps", /is bound to pool-1/);
  await shoot(page, "apps", project);
  await open("/apps?app=chat", /would take it|finds no/);
  await shoot(page, "app", project);
  await page.getByRole("button", { name: "Edit" }).click();
  await shoot(page, "app-binding", project);
  await fleet.call("POST", "/v1/admin/users", { name: "vera", roles: ["viewer"] });
  await open("/users", "vera");
  await shoot(page, "users", project);
  await page.getByRole("button", { name: "vera" }).click();
  await shoot(page, "user", project);
  await open("/audit", "node_moved");
  await shoot(page, "audit", project);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("button", { name: "Prove" }).click();
  await expect(page.getByText("It holds: 0 crossings.")).toBeVisible();
  await shoot(page, "audit-verify", project);
}

async function shoot(page: Page, name: string, project: string) {
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.screenshot({ path: `${out}${name}-${project}-${theme}.png`, animations: "disabled" });
  }
}

test("faults", async ({ page }, info) => {
  const project = info.project.name;
  const fleet = await Fleet.start(quickLeases);
  try {
    await fleet.setUp("admin", password);
    const options = await elevenNodes(fleet);
    await signIn(page, fleet.url, "admin", password);
    await takesNoWork(fleet, "edge-01");
    await page.goto(`${fleet.url}/nodes/edge-01`);
    await expect(page.getByText(/It takes no work/)).toBeVisible();
    await shoot(page, "node-takes-no-work", project);
    await copied(fleet, "edge-02", options);
    await page.goto(`${fleet.url}/nodes/edge-02`);
    await expect(page.getByText("has the newest state")).toBeVisible();
    await page.waitForLoadState("networkidle");
    await shoot(page, "node-quarantine", project);
    await page.getByRole("button", { name: "Keep" }).first().click();
    await shoot(page, "node-keep", project);
    await massLoss(fleet, ["edge-04", "edge-05", "edge-06", "edge-07", "edge-08", "edge-09", "edge-10", "edge-11"]);
    await page.goto(`${fleet.url}/pools/pool-1`);
    await expect(page.locator("[data-mass-loss]")).toBeVisible();
    await expect(page.locator("[data-alarm=mass_loss]").first()).toBeVisible();
    await page.waitForLoadState("networkidle");
    await shoot(page, "pool-mass-loss", project);
    await page.goto(fleet.url);
    await expect(page.locator("[data-pool=pool-1]")).toBeVisible();
    const goOn = fleet.pauseDatabase();
    await expect(page.locator("[data-frozen]")).toBeVisible();
    await shoot(page, "fleet-frozen", project);
    goOn();
  } finally {
    await page.close();
    await fleet.stop();
  }
});

test("pages", async ({ page }, info) => {
  const project = info.project.name;
  const fleet = await Fleet.start();
  try {
    await page.goto(fleet.setupLink);
    await expect(page.getByRole("heading", { name: "Set up" })).toBeVisible();
    await shoot(page, "setup", project);
    await fleet.setUp("admin", password);
    await page.goto(`${fleet.url}/sign-in`);
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    await shoot(page, "sign-in", project);
    await signIn(page, fleet.url, "admin", password);
    await page.getByRole("button", { name: "Make a code" }).click();
    await expect(page.getByText(/^RPL-/)).toBeVisible();
    await shoot(page, "fleet-empty", project);

    const { done, running, waiting } = await populate(fleet);
    await page.goto(fleet.url);
    await expect(page.locator("[data-pool=default]")).toContainText("1 ready");
    await shoot(page, "fleet", project);
    if (project === "desk") {
      await page.goto(`${fleet.url}/?view=table`);
      await expect(page.locator("[data-pool=default]")).toBeVisible();
      await shoot(page, "fleet-table", project);
    }
    await page.goto(`${fleet.url}/nodes`);
    await expect(page.getByRole("link", { name: /ams-edge-02/ })).toBeVisible();
    await shoot(page, "nodes", project);
    if (project === "desk") {
      for (const id of ["ams-edge-01", "ams-edge-02"]) await page.getByLabel(`Select ${id}`).check();
      await shoot(page, "nodes-selected", project);
      await page.getByRole("button", { name: "Drain" }).click();
      await expect(page.getByText(/dry run at/)).toBeVisible();
      await shoot(page, "nodes-drain", project);
    }
    await page.goto(`${fleet.url}/nodes?q=region%3Aeu+-region%3Aeu-south+state%3Aready`);
    await expect(page.getByRole("link", { name: /ams-edge-02/ })).toBeVisible();
    await shoot(page, "nodes-filter", project);
    await page.goto(`${fleet.url}/nodes?q=region%3Aus`);
    await expect(page.getByText("No node matches")).toBeVisible();
    await shoot(page, "nodes-none", project);
    await page.goto(`${fleet.url}/nodes/ams-edge-02`);
    await expect(page.getByText("Running work")).toBeVisible();
    await expect(page.getByRole("listitem").filter({ hasText: "cam-7" }).first()).toBeVisible();
    await shoot(page, "node", project);
    await page.getByRole("button", { name: "Move" }).click();
    await expect(page.getByText(/dry run at/)).toBeVisible();
    await shoot(page, "node-move", project);
    await page.goto(`${fleet.url}/nodes/fra-edge-02`);
    await expect(page.getByRole("button", { name: "Lift" })).toBeVisible();
    await shoot(page, "node-held", project);
    await page.goto(`${fleet.url}/nodes/lis-edge-11`);
    await expect(page.getByText("the link broke").first()).toBeVisible();
    await shoot(page, "node-suspect", project);
    await page.goto(`${fleet.url}/jobs`);
    await expect(page.getByText(running.id.slice(0, 13)).first()).toBeVisible();
    await expect(page.getByRole("row", { name: /running/ }).first()).toBeVisible();
    await shoot(page, "jobs", project);
    for (const [name, job] of [
      ["job", done],
      ["job-running", running],
      ["job-waiting", waiting],
    ] as const) {
      await page.goto(`${fleet.url}/jobs/${job.id}`);
      await expect(page.getByText(/Why this node|How its pool was found/)).toBeVisible();
      await expect(page.getByText(/^(Attempts|Place in the queue)$/).first()).toBeVisible();
      if (name !== "job-running") await page.waitForLoadState("networkidle"); // its log is followed for as long as it runs
      await shoot(page, name, project);
    }
    await controlPages(page, fleet, project);
    await page.goto(fleet.url);
    await expect(page.locator("[data-pool=default]")).toContainText("1 ready");
    if (project === "desk") await page.keyboard.press("Control+k");
    else await page.getByRole("button", { name: "Search or run" }).filter({ visible: true }).click();
    await page.getByPlaceholder("Search or run").fill("ams");
    await expect(page.getByRole("dialog").getByText("ams-edge-02")).toBeVisible();
    // On a phone it is held back until the keyboard of the screen is up.
    await expect(page.getByRole("dialog").locator("..")).toHaveCSS("opacity", "1");
    await shoot(page, "palette", project);
    await page.keyboard.press("Escape");
    await fleet.killServer();
    await expect(page.getByText(/No word from the server/)).toBeVisible();
    await shoot(page, "fleet-stale", project);
  } finally {
    await page.close();
    await fleet.stop();
  }
});
