import { describe, expect, it } from "vitest";
import { subjectOf, targetPage } from "./target";

describe("targetPage", () => {
  it("leads to the target, or to its session", () => {
    expect(targetPage("agent_1", {})).toEqual({ to: "/agents/agent_1" });
    expect(targetPage("hook_1", {})).toEqual({
      to: "/organization/webhooks",
      search: { webhook: "hook_1" },
    });
    expect(targetPage("wait_1", { sessionId: "sess_1" })).toEqual({ to: "/sessions/sess_1" });
  });

  it("is null where there is no page", () => {
    expect(targetPage("wait_1", {})).toBeNull();
    expect(targetPage("user_1", null)).toBeNull();
    expect(targetPage("somebody@example.com", [])).toBeNull();
    expect(targetPage(null, {})).toBeNull();
  });
});

describe("subjectOf", () => {
  it("says what was decided", () => {
    expect(subjectOf("approval.decided", { approve: true, tool: "write_file" })).toBe(
      "write_file approved",
    );
    expect(subjectOf("approval.decided", { approve: false, tool: "write_file" })).toBe(
      "write_file denied",
    );
  });

  it("names the target as the details do", () => {
    expect(subjectOf("agent.created", { after: { name: "a", displayName: "Helper" } })).toBe(
      "Helper",
    );
    expect(subjectOf("webhook.deleted", { before: { url: "https://x.test" } })).toBe(
      "https://x.test",
    );
    expect(subjectOf("apiKey.created", { name: "CI" })).toBe("CI");
    expect(subjectOf("signin.failed", { name: 7 })).toBeNull();
    expect(subjectOf("org.updated", null)).toBeNull();
  });
});
