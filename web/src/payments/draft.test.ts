import { expect, it } from "vitest";
import {
  createPolicyInput,
  draftOfPolicy,
  hostsOf,
  NEW_POLICY,
  secretProblem,
  updatePolicyInput,
} from "./draft";
import type { Policy } from "./words";

const SECRET = "0123456789abcdef0123456789abcdef";

const DRAFT = {
  ...NEW_POLICY,
  name: " Books ",
  capabilities: ["shopping"],
  hosts: "books.example.com\n*.shop.example.com, books.example.com\n",
  url: " https://pay.example.com/ostler ",
  secret: SECRET,
  maxPerRequest: " 20.00",
  maxPerTurn: "50",
  maxPerDay: "500",
};

const STORED: Policy = {
  id: "ppol_1",
  name: "Books",
  capabilities: ["shopping", "core"],
  hosts: ["books.example.com", "*.shop.example.com"],
  url: "https://pay.example.com/ostler",
  maxPerRequest: "20",
  maxPerTurn: "50",
  maxPerDay: "500",
  approvalAbove: "10",
  enabled: true,
};

it("sends a new policy as it was typed, amounts without needless zeros", () => {
  expect(createPolicyInput(DRAFT)).toEqual({
    name: "Books",
    capabilities: ["shopping"],
    hosts: ["books.example.com", "*.shop.example.com"],
    url: "https://pay.example.com/ostler",
    secret: SECRET,
    maxPerRequest: "20",
    maxPerTurn: "50",
    maxPerDay: "500",
    approvalAbove: null,
  });
  expect(createPolicyInput({ ...DRAFT, approvalAbove: " 0 " })?.approvalAbove).toBe("0");
});

it.each([
  { name: " " },
  { capabilities: [] },
  { hosts: " ,\n" },
  { url: " " },
  { secret: "" },
  { secret: "short" },
  { maxPerRequest: "" },
  { maxPerTurn: "1e3" },
  { maxPerDay: "1,5" },
  { approvalAbove: "much" },
])("waits until all is there: %j", (missing) => {
  expect(createPolicyInput({ ...DRAFT, ...missing })).toBeNull();
});

it("shows a stored policy so that nothing has changed, and no secret", () => {
  const draft = draftOfPolicy(STORED);
  expect(draft.secret).toBe("");
  expect(updatePolicyInput(draft, STORED)).toBeNull();
  const same = {
    ...draft,
    capabilities: ["core", "shopping"],
    hosts: "*.shop.example.com books.example.com",
    maxPerTurn: "50.0",
    approvalAbove: "10.00",
  };
  expect(updatePolicyInput(same, STORED)).toBeNull();
});

it("sends only what differs", () => {
  const draft = draftOfPolicy(STORED);
  const sent = (change: Partial<typeof draft>) =>
    updatePolicyInput({ ...draft, ...change }, STORED);
  expect(sent({ name: "Shops" })).toEqual({ name: "Shops" });
  expect(sent({ capabilities: ["core"] })).toEqual({ capabilities: ["core"] });
  expect(sent({ hosts: "books.example.com" })).toEqual({ hosts: ["books.example.com"] });
  expect(sent({ url: "https://pay.example.com/b" })).toEqual({ url: "https://pay.example.com/b" });
  expect(sent({ secret: SECRET })).toEqual({ secret: SECRET });
  expect(sent({ maxPerRequest: "21" })).toEqual({ maxPerRequest: "21" });
  expect(sent({ maxPerTurn: "51" })).toEqual({ maxPerTurn: "51" });
  expect(sent({ maxPerDay: "501" })).toEqual({ maxPerDay: "501" });
  // Null takes it away; 0 asks for an approval of every payment.
  expect(sent({ approvalAbove: "" })).toEqual({ approvalAbove: null });
  expect(sent({ approvalAbove: "0" })).toEqual({ approvalAbove: "0" });
  expect(sent({ name: "Shops", maxPerDay: "" })).toBeNull();
});

it("reads hosts by lines, blanks and commas", () => {
  expect(hostsOf("a.example\r\n b.example,c.example ,\n\na.example")).toEqual([
    "a.example",
    "b.example",
    "c.example",
  ]);
});

it("counts the bytes of a secret", () => {
  expect(secretProblem("")).toBeNull();
  expect(secretProblem("x".repeat(31))).toMatch(/31/);
  expect(secretProblem("x".repeat(32))).toBeNull();
  expect(secretProblem("ä".repeat(16))).toBeNull();
});
