// @vitest-environment happy-dom

import { expect, it } from "vitest";
import { curlRequest } from "./graphqlRequest";

it("names the variable for the key that all snippets use, and quotes for the shell", () => {
  const request = curlRequest("{ org { id } }", { name: "it's" });
  expect(request).toContain('"Authorization: Bearer $OSTLER_API_KEY"');
  expect(request).toContain("it'\\''s");
});
