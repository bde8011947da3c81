import { changesOf } from "@/api/changes";
import type { CreatePaymentPolicyInput, UpdatePaymentPolicyInput } from "@/gql/graphql";
import { isDecimal, plainDecimal } from "@/money/decimal";
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

/** The fields of a policy that the form has, for what the server says about them. */
export const POLICY_FIELDS = Object.keys(NEW_POLICY);

export function draftOfPolicy(policy: Policy): PolicyDraft {
  const { name, capabilities, url, maxPerRequest, maxPerTurn, maxPerDay } = policy;
  return {
    ...{ name, capabilities, url, maxPerRequest, maxPerTurn, maxPerDay },
    hosts: policy.hosts.join("\n"),
    secret: "",
    approvalAbove: policy.approvalAbove ?? "",
  };
}

/** The hosts that were typed, each once; commas will do, too. */
export function hostsOf(typed: string): string[] {
  return [...new Set(typed.split(/[\s,]+/).filter((each) => each !== ""))];
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

function inputOf(draft: PolicyDraft) {
  return {
    name: draft.name.trim(),
    capabilities: [...draft.capabilities],
    hosts: hostsOf(draft.hosts),
    url: draft.url.trim(),
    maxPerRequest: plainDecimal(draft.maxPerRequest),
    maxPerTurn: plainDecimal(draft.maxPerTurn),
    maxPerDay: plainDecimal(draft.maxPerDay),
    approvalAbove: draft.approvalAbove.trim() ? plainDecimal(draft.approvalAbove) : null,
  };
}

/** Null while something is missing, or can't be sent. */
export function createPolicyInput(draft: PolicyDraft): CreatePaymentPolicyInput | null {
  if (!finished(draft) || draft.secret === "") return null;
  return { ...inputOf(draft), secret: draft.secret };
}

/** Null when nothing differs from what is stored, or when it can't be sent. */
export function updatePolicyInput(
  draft: PolicyDraft,
  stored: Policy,
): UpdatePaymentPolicyInput | null {
  if (!finished(draft)) return null;
  const secret = draft.secret === "" ? {} : { secret: draft.secret };
  return changesOf(
    { ...inputOf(draft), ...secret },
    { ...inputOf(draftOfPolicy(stored)), secret: undefined },
  );
}
