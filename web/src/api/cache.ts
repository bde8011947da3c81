import { type Cache, cacheExchange } from "@urql/exchange-graphcache";
import type { TopUpBudgetInput } from "@/gql/graphql";

/** These have no identity of their own: they belong to what they were read with. */
export const EMBEDDED = [
  "Actor",
  "AgentConnection",
  "AgentOperations",
  "ApiKeyConnection",
  "ApprovalDecision",
  "AuditCheck",
  "AuditConnection",
  "BudgetCheck",
  "BudgetCheckLine",
  "BudgetConnection",
  "BudgetPeriod",
  "CapabilityRef",
  "ClientTool",
  "ConfigOrigin",
  "DeliveryConnection",
  "DiscoveredModel",
  "EffectiveConfig",
  "FailureCount",
  "FailureGroup",
  "FailureReport",
  "FieldChange",
  "HarnessConnection",
  "ImagePart",
  "InvitationConnection",
  "LedgerConnection",
  "MatchPart",
  "MembershipConnection",
  "ModelConnection",
  "ModelPrice",
  "ModelPriceVersion",
  "ModelView",
  "ModelViewMessage",
  "Operations",
  "OperationsHour",
  "OrgLimits",
  "PageInfo",
  "PaymentConnection",
  "PaymentTerms",
  "Percentiles",
  "ProviderConnection",
  "Revision",
  "RevisionConnection",
  "ServerInfo",
  "SessionConnection",
  "SessionFile",
  "SessionMatch",
  "SessionSummary",
  "TextPart",
  "ThinkingPart",
  "Todo",
  "ToolCallPart",
  "ToolHints",
  "ToolInfo",
  "ToolResultPart",
  "TurnConnection",
  "TurnError",
  "Usage",
  "UsageConnection",
  "UsageEdge",
  "UsageRow",
  "Viewer",
  "WaitConnection",
] as const;

function forget(cache: Cache, field: string): void {
  for (const info of cache.inspectFields("Query")) {
    if (info.fieldName === field) cache.invalidate("Query", info.fieldKey);
  }
}

/** What was topped up stands in the ledger, too. */
function forgetLedger(cache: Cache, input: unknown): void {
  const { budgetId } = input as TopUpBudgetInput;
  const budget = { __typename: "Budget", id: budgetId };
  for (const info of cache.inspectFields(budget)) {
    if (info.fieldName === "ledger") cache.invalidate(budget, info.fieldKey);
  }
}

/** Lists are forgotten when one of their members appears or may have to disappear; members update by their id. */
export function createCache() {
  return cacheExchange({
    keys: Object.fromEntries(EMBEDDED.map((type) => [type, () => null])),
    updates: {
      Mutation: {
        createAgent: (_result, _args, cache) => forget(cache, "agents"),
        archiveAgent: (_result, _args, cache) => forget(cache, "agents"),
        unarchiveAgent: (_result, _args, cache) => forget(cache, "agents"),
        createHarness: (_result, _args, cache) => forget(cache, "harnesses"),
        archiveHarness: (_result, _args, cache) => forget(cache, "harnesses"),
        unarchiveHarness: (_result, _args, cache) => forget(cache, "harnesses"),
        createProvider: (_result, _args, cache) => forget(cache, "providers"),
        archiveProvider: (_result, _args, cache) => {
          forget(cache, "providers");
          // Its models are gone from the list of all that can be chosen.
          forget(cache, "models");
        },
        createModel: (_result, _args, cache) => forget(cache, "models"),
        createWebhook: (_result, _args, cache) => forget(cache, "webhooks"),
        deleteWebhook: (_result, _args, cache) => forget(cache, "webhooks"),
        createPaymentPolicy: (_result, _args, cache) => forget(cache, "paymentPolicies"),
        deletePaymentPolicy: (_result, _args, cache) => forget(cache, "paymentPolicies"),
        createBudget: (_result, _args, cache) => {
          forget(cache, "budgets");
          forget(cache, "budgetCheck");
        },
        updateBudget: (_result, _args, cache) => forget(cache, "budgetCheck"),
        disableBudget: (_result, _args, cache) => forget(cache, "budgetCheck"),
        topUpBudget: (_result, { input }, cache) => {
          forget(cache, "budgetCheck");
          forgetLedger(cache, input);
        },
        resumeSession: (_result, _args, cache) => forget(cache, "budgetCheck"),
        createSession: (_result, _args, cache) => forget(cache, "sessions"),
        forkSession: (_result, _args, cache) => forget(cache, "sessions"),
        rerunTurn: (_result, _args, cache) => forget(cache, "sessions"),
      },
    },
  });
}
