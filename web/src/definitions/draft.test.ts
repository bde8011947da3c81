import { expect, it } from "vitest";
import { wantsOthers } from "@/catalog/capabilities";
import {
  definitionProblems,
  emptyDefinition,
  nameProblem,
  suggestedName,
  withDisplayName,
} from "./draft";

it("finds bad numbers and bad JSON", () => {
  expect(definitionProblems(emptyDefinition)).toEqual({});
  expect(
    definitionProblems({
      ...emptyDefinition,
      maxIterations: "many",
      capabilities: [{ id: "files", config: "{" }],
    }),
  ).toMatchObject({ maxIterations: expect.any(String), capabilities: expect.any(String) });
});

it("takes only identifiers as names", () => {
  for (const name of ["a", " support-agent ", "v1.2_b", "Writer", ""]) {
    expect(nameProblem(name)).toEqual({});
  }
  for (const name of ["My Agent!", "-a", "ärmel", "a/b"]) {
    expect(nameProblem(name)).toHaveProperty("name");
  }
});

it("suggests a name from the display name until one is typed", () => {
  expect(suggestedName("My Agent!")).toBe("my-agent");
  expect(suggestedName("  Größe & Ärger ")).toBe("gro-e-arger");
  let draft = withDisplayName(emptyDefinition, "My A");
  draft = withDisplayName(draft, "My Agent!");
  expect(draft.name).toBe("my-agent");
  draft = withDisplayName({ ...draft, name: "helper" }, "Another");
  expect(draft).toMatchObject({ name: "helper", displayName: "Another" });
});

it("knows whether approvals need somebody else", () => {
  expect(wantsOthers({ id: "approvals", config: "" })).toBe(true);
  expect(wantsOthers({ id: "approvals", config: '{"default": "always"}' })).toBe(true);
  expect(wantsOthers({ id: "approvals", config: '{"allowSelf": true}' })).toBe(false);
  const settings = (value: unknown) =>
    wantsOthers({ id: "approvals", config: JSON.stringify(value) });
  expect(settings({ allowSelf: true, quorum: 2 })).toBe(true);
  expect(settings({ allowSelf: true, rules: [{ approve: "always", allowSelf: false }] })).toBe(
    true,
  );
  expect(settings({ rules: [{ approve: "always", allowSelf: true }] })).toBe(false);
  expect(settings({ rules: [{ approve: "never" }] })).toBe(false);
  expect(settings({ rules: [{ approve: "never" }], default: "destructive" })).toBe(true);
  expect(settings({ default: "never" })).toBe(false);
  expect(settings([])).toBe(false);
  expect(settings({ rules: "all" })).toBe(false);
  expect(wantsOthers({ id: "approvals", config: "{" })).toBe(false);
  expect(wantsOthers({ id: "files", config: "" })).toBe(false);
});
