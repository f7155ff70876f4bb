import { afterEach, expect, it, vi } from "vitest";
import { Refusal, stream } from "../api/client";
import { keptCharacters, keptEnd } from "./livelog";

it("keeps the end of a log, from a whole line on", () => {
  const line = `${"x".repeat(99)}\n`;
  const all = line.repeat((2 * keptCharacters) / line.length);
  const kept = keptEnd(`${all}the end`);
  expect(kept.length).toBeLessThanOrEqual(keptCharacters);
  expect(kept.startsWith(line)).toBe(true);
  expect(kept.endsWith("the end")).toBe(true);
  expect(keptEnd("short")).toBe("short");
  expect(keptEnd("x".repeat(3 * keptCharacters))).toHaveLength(keptCharacters);
});

afterEach(() => vi.unstubAllGlobals());

async function read(answer: Response): Promise<string[]> {
  vi.stubGlobal("fetch", async () => answer);
  const parts: string[] = [];
  for await (const part of stream("/v1/jobs/1/log?follow=true", new AbortController().signal)) parts.push(part);
  return parts;
}

it("gives a log's text as it comes, characters whole", async () => {
  const bytes = new TextEncoder().encode("a日b");
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(to) {
      to.enqueue(bytes.slice(0, 2));
      to.enqueue(bytes.slice(2));
      to.close();
    },
  });
  expect(await read(new Response(body))).toEqual(["a", "日b"]);
});

it("tells a refusal, and a log that is cut", async () => {
  await expect(read(Response.json({ code: "rate_limited", detail: "too many" }, { status: 429 }))).rejects.toBeInstanceOf(Refusal);
  const cut = new ReadableStream({ start: (to) => to.error(new TypeError("network error")) });
  await expect(read(new Response(cut))).rejects.toThrow("network error");
});
