import { expect, it } from "vitest";
import { failureFacts } from "./failures";

it("leads to the providers for what is wrong with a provider's account or key", () => {
  expect(failureFacts("provider_misconfigured").remedy).toBe("providers");
  expect(failureFacts("provider_quota_exhausted").remedy).toBe("providers");
  expect(failureFacts("provider_rate_limited").remedy).toBeNull();
});

it("has words for codes of newer servers, and for names that every object has", () => {
  expect(failureFacts("brand_new").title).toBe("The turn failed");
  expect(failureFacts("constructor").title).toBe("The turn failed");
});
