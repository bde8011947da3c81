import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { OrgLimitValuesFragment } from "@/gql/graphql";
import { countText, LIMITS, limitProblem, limitsInput, limitText, storageWarning } from "./draft";

const STORED: OrgLimitValuesFragment = {
  activeTurns: 0,
  queuedTurns: 100_000,
  sessions: 1_000_000,
  agents: 2000,
  requestsPerMinute: 120_000,
  subscriptions: 20_000,
  sockets: 20_000,
  apiKeys: 500,
  pendingInvitations: 500,
  toolCallsPerMinute: 1000,
  environmentKeys: false,
  storageBytes: 0,
};

it("shows each limit that there is", () => {
  const schema = readFileSync("../graph/schema/limits.graphqls", "utf8");
  const input = schema.slice(schema.indexOf("input OrgLimitsInput"));
  const names = [...input.matchAll(/^ {2}(\w+): Int(?:64)? /gm)].map((match) => match[1]);
  expect(LIMITS.map(({ name }) => name).sort()).toEqual(names.sort());
});

it("sends what differs, and nothing else", () => {
  expect(limitsInput({}, STORED)).toBeNull();
  expect(limitsInput({ agents: "2000", sessions: " 1000000 " }, STORED)).toBeNull();
  expect(limitsInput({ agents: "5", sockets: "20000", activeTurns: "0" }, STORED)).toEqual({
    agents: 5,
  });
});

it("puts the default back where nothing is typed, and takes 0 for any number", () => {
  expect(limitsInput({ agents: "", sockets: "0" }, STORED)).toEqual({ agents: null, sockets: 0 });
});

it("allows the server's keys, and takes them away", () => {
  expect(limitsInput({ environmentKeys: true }, STORED)).toEqual({ environmentKeys: true });
  expect(limitsInput({ environmentKeys: false }, STORED)).toBeNull();
});

it.each(["-5", "1.5", "many", "1e3", "2147483648"])("can't send %s", (text) => {
  expect(limitProblem(text)).not.toBeNull();
  expect(limitsInput({ agents: text, sockets: "5" }, STORED)).toBeNull();
});

it("warns before the storage is full, and when it is", () => {
  expect(storageWarning(10 ** 12, 0)).toBeNull();
  expect(storageWarning(799, 1000)).toBeNull();
  expect(storageWarning(800, 1000)).toContain("nearly full");
  expect(storageWarning(1000, 1000)).toContain("is full");
  expect(limitsInput({ storageBytes: "5000000000" }, STORED)).toEqual({
    storageBytes: 5_000_000_000,
  });
});

it("says how much may be and is", () => {
  expect(limitText(0)).toBe("Unlimited");
  expect(limitText(2000)).toBe("2,000");
  expect(countText(undefined)).toBeNull();
  expect(countText(null)).toContain("more than");
  expect(countText(0)).toBe("0");
});
