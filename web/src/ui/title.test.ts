import { expect, it } from "vitest";
import { windowTitle } from "./title";

it("names what the page is about, where it belongs, what works and what waits", () => {
  const subject = { name: "Refund #1000", working: false };
  expect(windowTitle("Sessions", subject, 0)).toBe("Refund #1000 · Sessions · Ostler");
  expect(windowTitle("Sessions", { ...subject, working: true }, 2)).toBe(
    "● (2) Refund #1000 · Sessions · Ostler",
  );
  expect(windowTitle("Home", null, null)).toBe("Home · Ostler");
  expect(windowTitle(null, null, null)).toBe("Ostler");
});
