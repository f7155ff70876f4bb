import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/**
 * How much JavaScript the first page needs, gzipped: the entry, the Fleet page and
 * all that they import at once. Fails above the limit.
 */

const limit = 180_000;
const assets = join(import.meta.dirname, "dist/assets");
const entry = readFileSync(join(assets, "../index.html"), "utf8").match(/src="\/assets\/([^"]+\.js)"/)?.[1];
const fleet = readdirSync(assets).find((f) => /^Fleet-.*\.js$/.test(f));
if (!entry || !fleet) throw new Error("web/dist has no console: run npm run build");

const needed = new Set();
function need(name) {
  if (needed.has(name)) return;
  needed.add(name);
  const text = readFileSync(join(assets, name), "utf8");
  for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) need(imported);
}
need(entry);
need(fleet);

const size = [...needed].reduce((sum, name) => sum + gzipSync(readFileSync(join(assets, name))).length, 0);
console.log(`first page: ${(size / 1000).toFixed(1)} kB of JavaScript, gzipped, in ${needed.size} files; the limit is ${limit / 1000} kB`);
if (size > limit) process.exit(1);
