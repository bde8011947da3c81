import type { Schema } from "@/forms/schema";

/** From how many characters on a text has several lines to be edited in. */
const LONG_TEXT = 60;

/** A schema that arguments fit, for a form of them: tools don't tell theirs to those who decide. */
export function argumentsSchema(value: unknown): Schema {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const properties = Object.entries(value).map(([name, each]) => [name, schemaOf(name, each)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: Object.keys(value),
  };
}

function schemaOf(title: string, value: unknown): Schema {
  switch (typeof value) {
    case "string":
      return {
        type: "string",
        title,
        "x-empty": true,
        "x-multiline": value.length > LONG_TEXT || value.includes("\n"),
      };
    case "number":
      return { type: "number", title };
    case "boolean":
      return { type: "boolean", title };
    default:
      // What has a shape of its own is edited as JSON.
      return { title };
  }
}
