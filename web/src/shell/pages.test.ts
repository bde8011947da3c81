import { expect, it } from "vitest";
import type { Permission } from "@/gql/graphql";
import { offeredTabs } from "@/org/tabs";
import { offeredPages, PAGES, pageAt } from "./pages";

const VIEWER: Permission[] = [
  "ORG_READ",
  "CATALOG_READ",
  "SESSIONS_READ",
  "BUDGETS_READ",
  "USAGE_READ",
];
const MEMBER: Permission[] = [...VIEWER, "SESSIONS_WRITE", "APPROVALS_DECIDE", "MEMBERS_READ"];
const labels = (list: readonly { label: string }[]) => list.map(({ label }) => label);

it("leads nobody to what they may do nothing with", () => {
  expect(labels(offeredPages(VIEWER, true))).not.toContain("Approvals");
  expect(labels(offeredPages(MEMBER, true))).toContain("Approvals");
  expect(labels(offeredPages([], true))).toEqual([]);
  expect(labels(offeredPages(VIEWER, true))).toEqual(expect.arrayContaining(["Budgets", "Usage"]));
  expect(labels(offeredPages(["BUDGETS_READ"], true))).toEqual(["Budgets", "Payments"]);
  // No capability of the server can pay.
  expect(labels(offeredPages(["BUDGETS_READ"], false))).toEqual(["Budgets"]);
});

it("has a key of its own for each page", () => {
  const keys = PAGES.map(({ key }) => key);
  expect(new Set(keys).size).toBe(PAGES.length);
  for (const key of keys) expect(key).toMatch(/^[a-z]$/);
});

it("offers the pages of the organization by permission", () => {
  expect(labels(offeredTabs(VIEWER))).toEqual(["General", "Limits", "Your profile"]);
  expect(labels(offeredTabs(MEMBER))).toEqual([
    "General",
    "Members",
    "Invitations",
    "Limits",
    "Your profile",
  ]);
  expect(
    labels(offeredTabs([...MEMBER, "AUDIT_READ", "API_KEYS_MANAGE", "WEBHOOKS_MANAGE"])),
  ).toEqual([
    "General",
    "Members",
    "Invitations",
    "API keys",
    "Webhooks",
    "Limits",
    "Audit log",
    "Your profile",
  ]);
});

it("knows which page an address belongs to", () => {
  const at = (pathname: string) => pageAt(PAGES, pathname)?.label;
  expect(at("/")).toBe("Home");
  expect(at("/budgets/bdgt_1")).toBe("Budgets");
  expect(at("/organization/members")).toBe("Organization");
  expect(at("/budgetary")).toBeUndefined();
});
