// Fails when the script that the first page needs is larger than the budget. "First load" is the entry and
// everything that it imports statically; whatever is imported on demand comes later and is only listed.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 180;
const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

const gzipKB = (file) => gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length / 1024;

const first = new Set();
const visit = (key) => {
  const chunk = manifest[key];
  if (first.has(chunk.file)) return;
  first.add(chunk.file);
  for (const imported of chunk.imports ?? []) visit(imported);
};
for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry) visit(key);

const scripts = [...new Set(Object.values(manifest).map((chunk) => chunk.file))].filter((f) =>
  f.endsWith(".js"),
);
let total = 0;
for (const file of scripts.sort()) {
  const size = gzipKB(file);
  if (first.has(file)) total += size;
  console.log(`${first.has(file) ? "first" : "lazy "}  ${size.toFixed(1).padStart(7)} KB  ${file}`);
}
console.log(`first load: ${total.toFixed(1)} KB gzip of ${BUDGET_KB} KB`);
if (total > BUDGET_KB) {
  console.error("The first load is over its budget: load something on demand.");
  process.exit(1);
}
