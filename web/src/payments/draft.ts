import type { CreatePaymentPolicyInput, UpdatePaymentPolicyInput } from "@/gql/graphql";
import { compareDecimals, isDecimal } from "@/money/decimal";
import type { Policy } from "./words";

/** A policy as the form holds it: amounts as text, hosts one a line. */
export interface PolicyDraft {
  name: string;
  capabilities: readonly string[];
  hosts: string;
  url: string;
  /** Never shown again; for a policy that there is, empty keeps the one there is. */
  secret: string;
  maxPerRequest: string;
  maxPerTurn: string;
  maxPerDay: string;
  approvalAbove: string;
}

/** The fields of a policy that the form has, for what the server says about them. */
export const POLICY_FIELDS = [
  "name",
  "capabilities",
  "hosts",
  "url",
  "secret",
  "maxPerRequest",
  "maxPerTurn",
  "maxPerDay",
  "approvalAbove",
] as const;

const LIMITS = ["maxPerRequest", "maxPerTurn", "maxPerDay"] as const;

export const NEW_POLICY: PolicyDraft = {
  name: "",
  capabilities: [],
  hosts: "",
  url: "",
  secret: "",
  maxPerRequest: "",
  maxPerTurn: "",
  maxPerDay: "",
  approvalAbove: "",
};

export function draftOfPolicy(policy: Policy): PolicyDraft {
  const { name, capabilities, hosts, url, maxPerRequest, maxPerTurn, maxPerDay } = policy;
  return {
    name,
    capabilities,
    hosts: hosts.join("\n"),
    url,
    secret: "",
    maxPerRequest,
    maxPerTurn,
    maxPerDay,
    approvalAbove: policy.approvalAbove ?? "",
  };
}

/** The hosts that were typed, each once; commas will do, too. */
export function hostsOf(typed: string): string[] {
  return [...new Set(typed.split(/[\s,]+/).filter((each) => each !== ""))];
}

export function toggled(chosen: readonly string[], id: string): readonly string[] {
  return chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
}

const MIN_SECRET = 32;

/** What is wrong with a secret before it is even sent; null when nothing is. */
export function secretProblem(typed: string): string | null {
  const bytes = new TextEncoder().encode(typed).length;
  return bytes === 0 || bytes >= MIN_SECRET
    ? null
    : `Use at least ${MIN_SECRET} bytes; this has ${bytes}.`;
}

function finished(draft: PolicyDraft): boolean {
  const { name, capabilities, hosts, url, secret, approvalAbove } = draft;
  return (
    name.trim() !== "" &&
    capabilities.length > 0 &&
    hostsOf(hosts).length > 0 &&
    url.trim() !== "" &&
    secretProblem(secret) === null &&
    LIMITS.every((key) => isDecimal(draft[key])) &&
    (approvalAbove.trim() === "" || isDecimal(approvalAbove))
  );
}

/** Null while something is missing, or can't be sent. */
export function createPolicyInput(draft: PolicyDraft): CreatePaymentPolicyInput | null {
  if (!finished(draft) || draft.secret === "") return null;
  return {
    name: draft.name.trim(),
    capabilities: [...draft.capabilities],
    hosts: hostsOf(draft.hosts),
    url: draft.url.trim(),
    secret: draft.secret,
    maxPerRequest: draft.maxPerRequest.trim(),
    maxPerTurn: draft.maxPerTurn.trim(),
    maxPerDay: draft.maxPerDay.trim(),
    approvalAbove: draft.approvalAbove.trim() || null,
  };
}

/** Only what differs, so that what others changed meanwhile stays; null when nothing does, or when it can't be sent. */
export function updatePolicyInput(
  draft: PolicyDraft,
  stored: Policy,
): UpdatePaymentPolicyInput | null {
  if (!finished(draft)) return null;
  const input: UpdatePaymentPolicyInput = {};
  const hosts = hostsOf(draft.hosts);
  const approval = draft.approvalAbove.trim() || null;
  if (draft.name.trim() !== stored.name) input.name = draft.name.trim();
  if (!sameNames(draft.capabilities, stored.capabilities)) {
    input.capabilities = [...draft.capabilities];
  }
  if (!sameNames(hosts, stored.hosts)) input.hosts = hosts;
  if (draft.url.trim() !== stored.url) input.url = draft.url.trim();
  if (draft.secret !== "") input.secret = draft.secret;
  for (const key of LIMITS) {
    if (compareDecimals(draft[key], stored[key]) !== 0) input[key] = draft[key].trim();
  }
  if (!sameAmount(approval, stored.approvalAbove)) input.approvalAbove = approval;
  return Object.keys(input).length === 0 ? null : input;
}

/** The server keeps names in an order of its own. */
function sameNames(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each) => right.includes(each));
}

function sameAmount(left: string | null, right: string | null): boolean {
  if (left === null || right === null) return left === right;
  return compareDecimals(left, right) === 0;
}
