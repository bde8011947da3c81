import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { EventKind, WebhookHistoryQuery } from "@/gql/graphql";
import { deliveryState, isDueSoon, whyDisabled } from "./delivery";
import { createWebhookInput, NEW_WEBHOOK, updateWebhookInput } from "./draft";
import { KIND_GROUPS, kindGroups, kindWords } from "./kinds";
import { webhooksSearch } from "./search";

const ALL = KIND_GROUPS.flatMap(({ kinds }) => kinds);

describe("the kinds", () => {
  it("are those of the organization's feed, each with words", () => {
    const table = readFileSync("../docs/events.md", "utf8");
    const rows = [...table.matchAll(/^\| `(\w+)` \|[^|]*\|[^|]*\| yes \|/gm)];
    expect([...ALL].sort()).toEqual(rows.map((row) => row[1]).sort());
    for (const kind of ALL) expect(kindWords(kind), kind).not.toBe("");
    expect(NEW_WEBHOOK.kinds.every((each) => ALL.includes(each))).toBe(true);
  });

  it("that are unknown here stay on offer where they were chosen", () => {
    const newer = "SOMETHING_NEW" as EventKind;
    expect(kindGroups(["TURN_FAILED"])).toBe(KIND_GROUPS);
    expect(kindGroups(["TURN_FAILED", newer]).at(-1)).toEqual({ label: "Others", kinds: [newer] });
  });
});

describe("a draft", () => {
  const stored = {
    id: "hook_1",
    url: "https://example.com/a",
    kinds: ["TURN_COMPLETED", "TURN_FAILED"] as EventKind[],
    enabled: true,
    createdAt: "2026-11-01T00:00:00.000Z",
  };

  it("becomes an input", () => {
    expect(createWebhookInput({ url: " https://example.com/a ", kinds: ["TURN_FAILED"] })).toEqual({
      url: "https://example.com/a",
      kinds: ["TURN_FAILED"],
    });
  });

  it("sends what differs, and nothing else", () => {
    const kinds: EventKind[] = ["TURN_FAILED", "TURN_COMPLETED"];
    expect(updateWebhookInput({ url: `${stored.url} `, kinds }, stored)).toBeNull();
    expect(updateWebhookInput({ url: "https://example.com/b", kinds }, stored)).toEqual({
      url: "https://example.com/b",
    });
    expect(updateWebhookInput({ url: stored.url, kinds: ["TURN_FAILED"] }, stored)).toEqual({
      kinds: ["TURN_FAILED"],
    });
    expect(
      updateWebhookInput({ url: stored.url, kinds: ["TURN_FAILED", "TURN_SEALED"] }, stored),
    ).toEqual({ kinds: ["TURN_FAILED", "TURN_SEALED"] });
  });
});

const TIME = "2026-11-22T12:00:00.000Z";

it.each([
  ["pending", { attempts: 0, error: null, nextAttemptAt: TIME, deliveredAt: null }],
  ["retrying", { attempts: 1, error: "no", nextAttemptAt: TIME, deliveredAt: null }],
  ["failed", { attempts: 8, error: "no", nextAttemptAt: null, deliveredAt: null }],
  ["delivered", { attempts: 1, error: null, nextAttemptAt: null, deliveredAt: TIME }],
  ["resend scheduled", { attempts: 1, error: null, nextAttemptAt: TIME, deliveredAt: TIME }],
  ["delivered, then failed", { attempts: 2, error: "no", nextAttemptAt: null, deliveredAt: TIME }],
])("tells of a delivery that it is %s", (words, delivery) => {
  expect(deliveryState(delivery).words).toBe(words);
});

it("knows which attempts are worth waiting for", () => {
  const due = { attempts: 1, error: null, deliveredAt: null, nextAttemptAt: TIME };
  const at = new Date(TIME).getTime();
  expect(isDueSoon(due, at + 60_000)).toBe(true);
  expect(isDueSoon(due, at - 5000)).toBe(true);
  expect(isDueSoon(due, at - 5001)).toBe(false);
  expect(isDueSoon({ ...due, nextAttemptAt: null }, at)).toBe(false);
});

describe("why a webhook is disabled", () => {
  type Entry = WebhookHistoryQuery["auditEntries"]["nodes"][number];
  const entry = (action: string, details: unknown): Entry => ({
    id: action,
    action,
    actor: { kind: "USER", id: "user_1", name: "Ada" },
    details,
    createdAt: TIME,
  });
  const byAda = entry("webhook.updated", { before: { enabled: true }, after: { enabled: false } });
  const again = entry("webhook.updated", { before: { enabled: false }, after: { enabled: true } });
  const bySelf = entry("webhook.disabled", { reason: "the receiver is gone" });

  it("is in the newest entry that has disabled it", () => {
    expect(whyDisabled([bySelf, again, byAda])?.words).toBe("automatically: the receiver is gone");
    expect(whyDisabled([byAda, again, bySelf])).toEqual({ words: "by Ada", at: TIME });
  });

  it("is unknown where nothing tells of it", () => {
    const other = entry("webhook.updated", {
      before: { enabled: false },
      after: { enabled: false },
    });
    for (const list of [[], [again], [other], [entry("webhook.updated", null)]]) {
      expect(whyDisabled(list)).toBeNull();
    }
  });
});

it("takes from the address which one is open", () => {
  expect(webhooksSearch({ webhook: "hook_1", more: 1 })).toEqual({ webhook: "hook_1" });
  expect(webhooksSearch({ webhook: "" })).toEqual({});
});
