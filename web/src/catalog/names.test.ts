import { expect, it } from "vitest";
import { fullName, nameBeside } from "./names";

it("leaves out a name that says the same again", () => {
  expect(fullName({ name: "generic", displayName: "Generic" })).toBe("Generic");
  expect(fullName({ name: "my-agent", displayName: "My Agent!" })).toBe("My Agent!");
  expect(fullName({ name: "sim-echo", displayName: "Simulated: echo" })).toBe(
    "Simulated: echo (sim-echo)",
  );
  expect(nameBeside({ name: "a", displayName: "b" })).toBe("a");
});
