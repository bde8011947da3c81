interface FailureFacts {
  title: string;
  /** Where what is wrong can be put right. */
  remedy: "providers" | "new-session" | "budgets" | null;
}

const UNKNOWN: FailureFacts = { title: "The turn failed", remedy: null };

const FAILURES: Record<string, FailureFacts> = {
  provider_rate_limited: { title: "The provider limits how often it is asked", remedy: null },
  provider_unavailable: { title: "The provider could not be reached", remedy: null },
  provider_misconfigured: { title: "The provider is not set up right", remedy: "providers" },
  provider_quota_exhausted: { title: "The provider's quota is used up", remedy: "providers" },
  context_window_exceeded: {
    title: "The conversation is too long for the model",
    remedy: "new-session",
  },
  invalid_tool_schema: { title: "The provider refused a tool", remedy: null },
  dependency_unavailable: { title: "Something that the turn needs is gone", remedy: null },
  blocked_by_hook: { title: "A hook stopped the turn", remedy: null },
  budget_exhausted: { title: "The budget is used up", remedy: "budgets" },
  iteration_limit: { title: "The turn took too many steps", remedy: null },
  replay_mismatch: { title: "The journal contradicts what was to run", remedy: null },
  wait_timeout: { title: "What the turn waited for did not come in time", remedy: null },
  no_progress: { title: "The turn made no progress", remedy: null },
};

/** What the code of a failure means to a person. The list is closed, but a newer server may know more. */
export function failureFacts(code: string): FailureFacts {
  return Object.hasOwn(FAILURES, code) ? (FAILURES[code] ?? UNKNOWN) : UNKNOWN;
}
