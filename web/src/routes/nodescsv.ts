import { holdText, nodeState } from "../state";
import type { NodeRow } from "../wire/messages";

const columns: [head: string, of: (n: NodeRow) => string | number][] = [
  ["state", nodeState],
  ["node", (n) => n.id],
  ["pool", (n) => n.pool],
  ["role", (n) => n.role],
  ["backend", (n) => n.backend],
  ["region", (n) => n.region],
  ["slots_used", (n) => n.slots_used],
  ["slots_total", (n) => n.slots_total],
  ["running", (n) => n.running.length],
  ["seen_ms_ago", (n) => n.last_seen_ms],
  ["epoch", (n) => n.epoch],
  ["agent", (n) => n.agent_version],
  ["holds", (n) => n.holds.map((h) => holdText(h)).join("; ")],
];

/** Nodes as a table of commas. A text that a spreadsheet would take for a formula gets an apostrophe: nodes name themselves. */
export function nodesCsv(rows: NodeRow[]): string {
  const lines = rows.map((n) => columns.map(([, of]) => cell(of(n))).join(","));
  return `${[columns.map(([head]) => head).join(","), ...lines].join("\r\n")}\r\n`;
}

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
