import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "graphql";
import { operationsOf } from "./trusted-plugin.mjs";
import { release, releasesIn } from "./trusted-release.mjs";

test("the last three releases are kept, and none is changed", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "trusted-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const current = (text) => writeFileSync(join(folder, "current.json"), text);
  for (const version of ["0.9.0", "0.10.0", "1.0.0"]) {
    current(version);
    assert.deepEqual(release(folder, version), []);
  }
  current("new");
  assert.throws(() => release(folder, "1.0.0"), /stays as it is/);
  assert.throws(() => release(folder, "0.11.0"), /older than 1.0.0/);
  assert.throws(() => release(folder, "v1"), /want a version/);
  assert.throws(() => release(folder, undefined), /want a version/);
  assert.deepEqual(release(folder, "1.0.1"), ["0.9.0"]);
  assert.deepEqual(releasesIn(folder), ["0.10.0", "1.0.0", "1.0.1"]);
  assert.equal(readFileSync(join(folder, "0.10.0.json"), "utf8"), "0.10.0");
  assert.equal(readFileSync(join(folder, "1.0.1.json"), "utf8"), "new");
});

const operations = (...sources) =>
  operationsOf(sources.map((source) => ({ document: parse(source) })));

test("a document has the fragments that it needs, and the types that the cache needs", () => {
  const [a, b] = operations(
    "query A { x { ...F } } subscription B { y { ...G } }",
    "fragment F on X { z { ...G } } fragment G on Y { id } fragment Unused on X { id }",
  );
  assert.equal(a.name, "A");
  assert.match(a.text, /^query A \{\n {2}x \{\n {4}...F\n {4}__typename/);
  assert.match(a.text, /fragment F on X[\s\S]*fragment G on Y/);
  assert.doesNotMatch(a.text, /Unused/);
  assert.doesNotMatch(b.text, /__typename|fragment F/);
  assert.match(a.hash, /^[0-9a-f]{64}$/);
});

test("names are needed once each", () => {
  assert.throws(() => operations("query A { x }", "query A { y }"), /names of their own/);
  assert.throws(() => operations("{ x }"), /names of their own/);
  assert.throws(() => operations("query A { ...Missing }"), /Missing, which is nowhere/);
});
