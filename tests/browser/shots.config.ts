import base, { desk, phone } from "./playwright.config";

/** Pictures of every page for people to look at: out/shots, by `npm run shots`. */
export default {
  ...base,
  testMatch: "*.shots.ts",
  timeout: 1_200_000, // a busy machine is slow, not wrong
  projects: [
    { name: "desk", use: { ...desk, deviceScaleFactor: 1 } },
    { name: "phone", use: phone },
  ],
};
