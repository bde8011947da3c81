import { type Cache, cacheExchange } from "@urql/exchange-graphcache";

/** These have no identity of their own: they belong to what they were read with. */
const EMBEDDED = [
  "Actor",
  "ApiKeyConnection",
  "ApprovalDecision",
  "AgentConnection",
  "AuditCheck",
  "AuditConnection",
  "CapabilityRef",
  "ClientTool",
  "DeliveryConnection",
  "DiscoveredModel",
  "EffectiveConfig",
  "FieldChange",
  "HarnessConnection",
  "InvitationConnection",
  "MembershipConnection",
  "ModelConnection",
  "ModelPrice",
  "OrgLimits",
  "PageInfo",
  "ProviderConnection",
  "Revision",
  "RevisionConnection",
  "ServerInfo",
  "SessionConnection",
  "SessionFile",
  "Todo",
  "ToolHints",
  "ToolInfo",
  "Usage",
  "TurnConnection",
  "TurnError",
  "Viewer",
  "WaitConnection",
] as const;

function forget(cache: Cache, field: string): void {
  for (const info of cache.inspectFields("Query")) {
    if (info.fieldName === field) cache.invalidate("Query", info.fieldKey);
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
        createSession: (_result, _args, cache) => forget(cache, "sessions"),
        forkSession: (_result, _args, cache) => forget(cache, "sessions"),
      },
    },
  });
}
