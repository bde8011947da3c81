import { expect, it } from "vitest";
import { failureFacts } from "./failures";

it("leads to the providers for what is wrong with a provider's account or key", () => {
  expect(failureFacts("provider_misconfigured").remedy).toBe("providers");
  expect(failureFacts("provider_quota_exhausted").remedy).toBe("providers");
  expect(failureFacts("provider_rate_limited").remedy).toBeNull();
});

it("leads to the budgets for what is used up", () => {
  expect(failureFacts("budget_exhausted").remedy).toBe("budgets");
});

it("has words for each code that turns end with", () => {
  for (const code of [
    "provider_rate_limited",
    "provider_unavailable",
    "provider_misconfigured",
    "provider_quota_exhausted",
    "context_window_exceeded",
    "invalid_tool_schema",
    "dependency_unavailable",
    "blocked_by_hook",
    "replay_mismatch",
    "wait_timeout",
    "budget_exhausted",
    "iteration_limit",
    "no_progress",
  ]) {
    expect(failureFacts(code).title, code).not.toBe("The turn failed");
  }
});

it("has words for codes of newer servers, and for names that every object has", () => {
  expect(failureFacts("brand_new").title).toBe("The turn failed");
  expect(failureFacts("constructor").title).toBe("The turn failed");
});
