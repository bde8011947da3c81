import { expect, it } from "vitest";
import { bulkCancel, bulkWords } from "./bulkCancel";

it("cancels each once, and goes on after a failure", async () => {
  const asked: string[] = [];
  const ids = Array.from({ length: 11 }, (_, index) => `sess_${index}`);
  const result = await bulkCancel(ids, async (id) => {
    asked.push(id);
    if (id === "sess_3") return { problem: "It broke." };
    return id === "sess_5" ? "at-rest" : "cancelled";
  });
  expect(asked.toSorted()).toEqual(ids.toSorted());
  expect(result).toEqual({ cancelled: 9, atRest: 1, problems: ["It broke."] });
});

it("tells what came of it", () => {
  expect(bulkWords({ cancelled: 1, atRest: 0, problems: [] })).toBe("Cancelling 1 turn.");
  expect(bulkWords({ cancelled: 2, atRest: 1, problems: ["No.", "No."] })).toBe(
    "Cancelling 2 turns; 1 session was idle; 2 failed: No.",
  );
});
