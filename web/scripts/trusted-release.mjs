// Keeps the documents of a release in the manifest, and drops what is older than the last releases: browsers that still show
// the dashboard of one of them go on working after an update.
//
//   npm run trusted:release -- 1.4.0
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const KEPT = 3;
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

const compare = (a, b) => {
  const [x, y] = [a, b].map((v) => VERSION.exec(v).slice(1).map(Number));
  return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
};

/** The releases that a folder has a manifest of, the oldest first. */
export function releasesIn(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json") && VERSION.test(file.slice(0, -5)))
    .map((file) => file.slice(0, -5))
    .sort(compare);
}

/** Makes the current documents those of a release, and gives the releases that were dropped. */
export function release(folder, version) {
  if (!VERSION.test(version ?? "")) throw new Error(`want a version like 1.4.0, not ${version}`);
  const target = join(folder, `${version}.json`);
  if (existsSync(target))
    throw new Error(`${version} is released already: what it has stays as it is`);
  const newest = releasesIn(folder).at(-1);
  if (newest && compare(version, newest) < 0) throw new Error(`${version} is older than ${newest}`);
  copyFileSync(join(folder, "current.json"), target);
  const dropped = releasesIn(folder).slice(0, -KEPT);
  for (const old of dropped) rmSync(join(folder, `${old}.json`));
  return dropped;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("../trusted", import.meta.url));
  const version = process.argv[2];
  const dropped = release(folder, version);
  console.log(`trusted/${version}.json has the documents of this release`);
  for (const old of dropped) console.log(`trusted/${old}.json is gone`);
}
