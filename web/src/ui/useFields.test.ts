import { expect, it } from "vitest";
import type { UserError } from "@/api/errors";
import { fieldsOf } from "./useFields";

const refused: UserError[] = [
  { code: "TAKEN", message: "It is taken.", path: ["input", "name"] },
] as never;

it("ties a field to the draft, with what is wrong with it before why it was refused", () => {
  let changed: unknown = null;
  const draft = { name: "a", tags: ["x"] };
  const field = fieldsOf(draft, (next) => (changed = next), refused, { tags: null });
  expect(field("name")).toMatchObject({ value: "a", errors: ["It is taken."] });
  expect(field("tags")).toMatchObject({ value: ["x"], errors: [] });
  field("tags").onChange([]);
  expect(changed).toEqual({ name: "a", tags: [] });
  const wrong = fieldsOf(draft, () => {}, refused, { name: "Too short." });
  expect(wrong("name").errors).toEqual(["Too short."]);
});
