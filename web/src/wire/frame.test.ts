import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { shapes as agentShapes } from "./agent";
import { decodeFrame, encodeFrame, type Known, read } from "./frame";
import { shapes } from "./messages";

const folder = new URL("../../../tests/wire/", import.meta.url);
const known: Known = { ...agentShapes, ...shapes };

function hex(path: string): Uint8Array {
  const text = readFileSync(new URL(path, folder), "utf8").trim();
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function json(path: string) {
  return JSON.parse(readFileSync(new URL(path, folder), "utf8"));
}

/** Writes binary data as the golden documents do. */
function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $hex: Buffer.from(value).toString("hex") };
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, readable(v)]));
  }
  return value;
}

/** The same with an empty list in the place of nil. */
function listsOf(body: unknown): unknown {
  return JSON.parse(JSON.stringify(readable(body)), (_, v) => (v === null ? [] : v));
}

function bodyOf(bytes: Uint8Array): unknown {
  const first = decodeFrame(bytes, known)[0];
  return first && known[first.type]?.read(first.body, first.type);
}

/**
 * Rules on values of the agents' messages that only the server keeps: a console
 * never gets one of these. A whole float is an integer to a browser.
 */
const valuesOfAgents = new Set([
  "integer_is_negative",
  "unknown_word",
  "field_missing",
  "slots_negative",
  "integer_is_a_float",
  "log_request_of_0",
  "log_request_over_32_kib",
  "log_request_offset_negative",
  "log_stream_unknown",
  "log_over_32_kib",
  "log_without_stream",
  "chain_of_65",
  "chain_is_no_hex",
  "rotation_unnamed",
  "inventory_free_over_total",
  "inventory_twice",
  "inventory_of_65_links",
  "inventory_of_257_cached",
  "inventory_command_is_a_path",
]);

describe("golden frames", () => {
  const names = readdirSync(new URL("golden/", folder)).filter((f) => f.endsWith(".hex"));
  it.each(names)("%s reads as its document", (file) => {
    const document = json(`golden/${file.replace(".hex", ".json")}`) as { t: string; b: Record<string, unknown> }[];
    const messages = decodeFrame(hex(`golden/${file}`), known);
    expect(messages.map((m) => ({ t: m.type, b: readable(m.body) }))).toEqual(document.map(({ t, b }) => ({ t, b })));
    for (const m of messages) {
      const typed = readable(known[m.type]?.read(m.body, m.type));
      expect(typed).toMatchObject(listsOf(m.body) as object);
    }
  });
});

describe("Attack_A21 bad frames are refused", () => {
  const bad = json("bad/index.json") as { name: string; layer: string; why: string }[];
  it.each(bad.filter((b) => b.layer === "frame"))("$name: $why", ({ name }) => {
    expect(() => decodeFrame(hex(`bad/${name}.hex`), known)).toThrow();
  });
  it.each(bad.filter((b) => b.layer === "body" && !valuesOfAgents.has(b.name)))("$name: $why", ({ name }) => {
    expect(() => bodyOf(hex(`bad/${name}.hex`))).toThrow();
  });
});

describe("bodies", () => {
  it("fill what is missing and drop what is unknown", () => {
    const bytes = encodeFrame("error", { code: "not_found", detail: "no such topic", future: 1 } as never);
    const [message] = decodeFrame(bytes);
    expect(message && read(message, "error")).toEqual({
      code: "not_found",
      detail: "no such topic",
      fatal: false,
      retry_after_ms: 0,
    });
  });
  it("of an unknown type pass, for newer servers", () => {
    const bytes = encodeFrame("future" as "ping", {});
    expect(decodeFrame(bytes)[0]?.type).toBe("future");
  });
});
