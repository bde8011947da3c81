import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { breakingChanges, schemaOf } from "./schema.mjs";

const released = `
  directive @auth(requires: P!) on FIELD_DEFINITION | OBJECT
  directive @goField(forceResolver: Boolean) on FIELD_DEFINITION
  enum P { READ WRITE @deprecated(reason: "Use READ. Removed after 2026-06-30.") }
  type A @auth(requires: READ) { id: ID! name: String old(x: Int): Int @deprecated(reason: "Use id. Removed after 2026-06-30.") }
  input I { a: String! b: Int }
  type Query { list(first: Int = 20): [A!]! @goField(forceResolver: true) }
  extend type Query { one(id: ID!): A @auth(requires: READ) }`;

const cases = {
  "a field less": ["name: String", "", true],
  "another type": ["name: String", "name: Int", true],
  "may be null now": ["id: ID!", "id: ID", true],
  "never null now": ["name: String", "name: String!", false],
  "a new field": ["name: String", "name: String more: Int @auth(requires: WRITE)", false],
  "an argument less": ["(first: Int = 20)", "", true],
  "another default": ["first: Int = 20", "first: Int = 10", false],
  "a new required argument": ["first: Int = 20", "first: Int = 20, x: Int!", true],
  "a new optional argument": ["first: Int = 20", "first: Int = 20, x: Int", false],
  "a new required input field": ["b: Int", "b: Int c: Int!", true],
  "a new optional input field": ["b: Int", "b: Int c: Int", false],
  "an input field that is required now": ["b: Int", "b: Int!", true],
  "a value more": ["READ WRITE", "READ MORE WRITE", false],
  "a value less": ["enum P { READ", "enum P { MORE", true],
  "a field of an extension less": ["one(id: ID!)", "two(id: ID!)", true],
  "another permission": [
    "one(id: ID!): A @auth(requires: READ)",
    "one(id: ID!): A @auth(requires: WRITE)",
    true,
  ],
  "a permission more": ["name: String", "name: String @auth(requires: READ)", true],
  "another permission of a type": [
    "type A @auth(requires: READ)",
    "type A @auth(requires: WRITE)",
    true,
  ],
  "the generator's own": ["@goField(forceResolver: true)", "", false],
  "a description": ["name: String", '"Its name." name: String', false],
};

const run = (from, to, today = "2026-06-01") =>
  breakingChanges(schemaOf([released]), schemaOf([released.replace(from, to)]), today);

for (const [name, [from, to, breaks]] of Object.entries(cases)) {
  test(`${name} ${breaks ? "breaks" : "breaks nothing"}`, async () => {
    assert.ok(released.includes(from));
    assert.equal((await run(from, to)).length > 0, breaks);
  });
}

test("what was deprecated may go after its date, and not before", async () => {
  const old = /old.*30."\)/;
  const value = /WRITE @.*30."\)/;
  for (const part of [old, value]) {
    assert.equal((await run(part, "")).length, 1);
    assert.equal((await run(part, "", "2026-06-30")).length, 1);
    assert.equal((await run(part, "", "2026-07-01")).length, 0);
  }
  // A name that comes back with another type is a change, not a removal.
  assert.equal((await run(old, "old: String", "2026-07-01")).length > 0, true);
});

test("the copy of the last release can be read", () => {
  const text = readFileSync(
    new URL("../../graph/contract/released.graphqls", import.meta.url),
    "utf8",
  );
  assert.ok(Object.keys(schemaOf([text]).getTypeMap()).length > 100);
  assert.doesNotMatch(text, /goField/);
});
