import { defineConfig } from "@playwright/test";

/** The console in Debian's Chromium against a real server with real agents. One fleet at a time: two cores carry it. */
export const desk = { viewport: { width: 1440, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

export const chromium = {
  browserName: "chromium" as const,
  launchOptions: {
    executablePath: process.env.ROCKPOOL_CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  },
};

export default defineConfig({
  testDir: ".",
  testMatch: "*.spec.ts",
  outputDir: "out/results",
  workers: 1,
  fullyParallel: false,
  timeout: 300_000, // axe looks for seconds a page, and a busy machine is slow
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: { ...chromium, timezoneId: "UTC", reducedMotion: "reduce", actionTimeout: 20_000, screenshot: "only-on-failure" }, // a trace (--trace on) takes a third of the time
  projects: [
    { name: "desk", use: desk },
    { name: "phone", use: phone, grepInvert: /@desk/ },
  ],
});
