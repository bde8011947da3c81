import type { ProviderRowFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { PROVIDER_KINDS } from "./kinds";

/** Whether a provider has a key. Those who may not see that are told nothing. */
export function KeyState({ provider }: { provider: ProviderRowFragment }) {
  if (!PROVIDER_KINDS[provider.kind].takesKey) return <Badge>needs no key</Badge>;
  if (provider.hasCredentials === null) return null;
  return provider.hasCredentials ? (
    <Badge tone="ok" title="Stored here or set in the server's environment">
      has key
    </Badge>
  ) : (
    <Badge tone="warn">no key</Badge>
  );
}
