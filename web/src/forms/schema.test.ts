import { expect, it } from "vitest";
import { errorsAt, settingsErrors } from "./errors";
import {
  groupsOf,
  initialOf,
  kindOf,
  resolve,
  type Schema,
  variantOf,
  withField,
  words,
} from "./schema";

const root: Schema = {
  type: "object",
  properties: {
    quorum: { $ref: "#/$defs/quorum", title: "How many" },
    loop: { $ref: "#/$defs/a" },
  },
  $defs: {
    quorum: { type: "integer", title: "Quorum", minimum: 1 },
    a: { $ref: "#/$defs/b" },
    b: { $ref: "#/$defs/a" },
  },
};

it("follows references, and keeps what stands beside them", () => {
  expect(resolve(root.properties?.quorum ?? {}, root)).toEqual({
    type: "integer",
    title: "How many",
    minimum: 1,
  });
  expect(resolve(root.properties?.loop ?? {}, root)).toBeDefined();
});

it("edits as JSON what does not fit the schema", () => {
  expect(kindOf({ type: "string" }, { a: 1 }, root)).toBe("json");
  expect(kindOf({ type: "array", items: { type: "string" } }, [1], root)).toBe("json");
  expect(kindOf({ enum: ["a", { b: 1 }] }, undefined, root)).toBe("json");
  expect(kindOf({}, undefined, root)).toBe("json");
});

it("orders fields by their hint, and groups them", () => {
  const schema: Schema = {
    properties: {
      last: {},
      second: { "x-order": 2, "x-group": "More" },
      first: { "x-order": 1 },
    },
  };
  const names = groupsOf(schema, root).map(({ name, properties }) => [
    name,
    properties.map(({ key }) => key),
  ]);
  expect(names).toEqual([
    ["", ["first", "last"]],
    ["More", ["second"]],
  ]);
});

it("tells variants by their constants and required fields", () => {
  const kind = (name: string): Schema => ({
    type: "object",
    properties: { kind: { const: name } },
    required: ["kind", "name"],
  });
  const variants = [kind("a"), kind("b"), { type: "string" }];
  expect(variantOf(variants, { kind: "b", more: 1 }, root)).toBe(1);
  expect(variantOf(variants, "text", root)).toBe(2);
  expect(variantOf(variants, 1, root)).toBe(-1);
  for (const [index, variant] of variants.entries()) {
    expect(variantOf(variants, initialOf(variant, root), root)).toBe(index);
  }
});

it("changes one field and leaves the others in their place", () => {
  const fields = { a: 1, b: 2, c: 3 };
  expect(JSON.stringify(withField(fields, "b", 4))).toBe('{"a":1,"b":4,"c":3}');
  expect(withField(fields, "b", undefined)).toEqual({ a: 1, c: 3 });
});

it("reads names of programs as words", () => {
  expect(words("expiresInSeconds")).toBe("Expires in seconds");
  expect(words("OWNER")).toBe("Owner");
  expect(words("pre_tool_use")).toBe("Pre tool use");
});

it("finds errors at the fields that the server names", () => {
  const refusal = (path: string[]) => ({ code: "INVALID", message: path.join("."), path });
  const errors = settingsErrors(
    [
      refusal(["input", "capabilities", "1", "config", "rules", "0", "tools"]),
      refusal(["input", "capabilities", "1", "config", "rules", "0", "tool"]),
      refusal(["input", "capabilities", "0", "config", "rules"]),
      refusal(["input", "name"]),
    ] as never,
    1,
  );
  expect(errorsAt(errors, ["rules", "0", "tools"])).toHaveLength(1);
  expect(errorsAt(errors, ["rules", "0"], (key) => key === "tools")).toEqual([
    "input.capabilities.1.config.rules.0.tool",
  ]);
  expect(errorsAt(errors, [], (key) => key === "rules")).toEqual([]);
});

it("begins an object with what the schema knows of its required fields", () => {
  const rule: Schema = {
    type: "object",
    properties: {
      tools: { type: "array", items: { type: "string" }, default: ["@destructive"] },
      approve: { enum: ["always", "never"] },
      name: { type: "string" },
      quorum: { type: "integer", default: 1 },
    },
    required: ["tools", "approve", "name"],
  };
  expect(initialOf(rule, rule)).toEqual({ tools: ["@destructive"], approve: "always" });
});
