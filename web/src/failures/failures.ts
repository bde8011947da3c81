interface FailureFacts {
  title: string;
  /** Where what is wrong can be put right. */
  remedy: "providers" | "new-session" | "budgets" | null;
}

const UNKNOWN: FailureFacts = { title: "The turn failed", remedy: null };

const FAILURES: Record<string, FailureFacts> = {
  provider_rate_limited: { title: "Rate limited by the provider", remedy: null },
  provider_unavailable: { title: "Provider unavailable", remedy: null },
  provider_misconfigured: { title: "Provider misconfigured", remedy: "providers" },
  provider_quota_exhausted: { title: "Provider quota exceeded", remedy: "providers" },
  context_window_exceeded: {
    title: "Conversation too long for the model",
    remedy: "new-session",
  },
  invalid_tool_schema: { title: "The provider rejected a tool", remedy: null },
  dependency_unavailable: { title: "A dependency is missing", remedy: null },
  blocked_by_hook: { title: "Stopped by a hook", remedy: null },
  budget_exhausted: { title: "Budget limit reached", remedy: "budgets" },
  iteration_limit: { title: "Too many model calls", remedy: null },
  replay_mismatch: { title: "Recovery failed", remedy: null },
  wait_timeout: { title: "Timed out waiting", remedy: null },
  no_progress: { title: "No progress", remedy: null },
};

/** What the code of a failure means to a person. The list is closed, but a newer server may know more. */
export function failureFacts(code: string): FailureFacts {
  return Object.hasOwn(FAILURES, code) ? (FAILURES[code] ?? UNKNOWN) : UNKNOWN;
}
