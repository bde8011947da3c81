import { expect, it } from "vitest";
import type { Retry } from "../feed/state";
import { retryWords } from "./retryWords";

const retry: Retry = {
  model: "claude-x",
  nextModel: "claude-x",
  code: "provider_rate_limited",
  message: "The provider limits how often it may be asked.",
  attempt: 2,
  delayMs: 3000,
  at: "2026-11-20T10:00:00.000Z",
};

it("counts down to the next try, and never below zero", () => {
  expect(retryWords(retry, 0).next).toBe("Retrying in 3 s (2 failed calls).");
  expect(retryWords(retry, 2100).next).toBe("Retrying in 1 s (2 failed calls).");
  expect(retryWords({ ...retry, attempt: 1 }, 9000).next).toBe("Retrying now (1 failed call).");
});

it("names the fallback model that is asked instead", () => {
  const next = { ...retry, nextModel: "gpt-y", delayMs: 0 };
  expect(retryWords(next, 0)).toEqual({
    problem: "claude-x: The provider limits how often it may be asked.",
    next: "Trying the fallback model gpt-y…",
  });
});
