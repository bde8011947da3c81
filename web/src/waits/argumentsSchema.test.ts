import { expect, it } from "vitest";
import { kindOf, resolve } from "@/forms/schema";
import { argumentsSchema } from "./argumentsSchema";

it("has a control for each argument, whatever it is", () => {
  const value = {
    path: "/a",
    content: "one\ntwo",
    n: 1,
    all: true,
    list: [1],
    of: { a: 1 },
    no: null,
  };
  const schema = argumentsSchema(value);
  const kinds = Object.entries(schema.properties ?? {}).map(([name, each]) => [
    name,
    kindOf(resolve(each, schema), value[name as keyof typeof value], schema),
  ]);
  expect(Object.fromEntries(kinds)).toEqual({
    path: "text",
    content: "text",
    n: "number",
    all: "switch",
    list: "json",
    of: "json",
    no: "json",
  });
  expect(schema.properties).toMatchObject({
    content: { title: "content", "x-multiline": true },
    path: { "x-multiline": false },
  });
});
