import { Link, useNavigate } from "@tanstack/react-router";
import { Cpu, Plus } from "lucide-react";
import { useState } from "react";
import { usePages } from "@/api/usePages";
import { type ProviderRowFragment, ProvidersDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { PageHeader } from "@/ui/PageHeader";
import { RelativeTime } from "@/ui/Time";
import { KeyState } from "./KeyState";
import { PROVIDER_KINDS } from "./kinds";
import { NewProviderDialog } from "./NewProviderDialog";

export function ModelsPage() {
  const navigate = useNavigate();
  const mayManage = useMay("PROVIDERS_MANAGE");
  const [adding, setAdding] = useState(false);
  const providers = usePages(ProvidersDocument, { first: 50 }, (data) => data.providers);

  return (
    <>
      <PageHeader title="Models and providers">
        {mayManage && (
          <Button look="primary" onClick={() => setAdding(true)}>
            <Plus size={15} aria-hidden />
            Add provider
          </Button>
        )}
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListBody
          list={providers}
          empty={<NoProviders onAdd={mayManage ? () => setAdding(true) : undefined} />}
        >
          <ul>
            {providers.nodes.map((provider) => (
              <ProviderListRow key={provider.id} provider={provider} />
            ))}
          </ul>
          <p className="px-4 py-3 text-xs text-ink-3 sm:px-6">
            A provider runs models. Open one to test its key and choose its models.
          </p>
        </ListBody>
      </div>
      {adding && (
        <NewProviderDialog
          onCreated={(providerId) =>
            void navigate({ to: "/models/$providerId", params: { providerId } })
          }
          onClose={() => setAdding(false)}
        />
      )}
    </>
  );
}

function ProviderListRow({ provider }: { provider: ProviderRowFragment }) {
  const { label, about } = PROVIDER_KINDS[provider.kind];
  return (
    <li className="border-b border-line">
      <Link
        to="/models/$providerId"
        params={{ providerId: provider.id }}
        className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-0.5 px-4 py-2.5 transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:px-6 lg:grid-cols-[minmax(0,1fr)_10rem_8rem_6rem]"
      >
        <div className="min-w-0">
          <div className="flex min-w-0 items-center gap-2">
            <span className="truncate text-sm font-medium">{provider.name}</span>
            {provider.lifecycle !== "ACTIVE" && (
              <Badge tone="warn">{provider.lifecycle.toLowerCase()}</Badge>
            )}
          </div>
          <p className="truncate text-xs text-ink-3">{provider.baseUrl ?? about}</p>
        </div>
        <span className="hidden truncate text-xs text-ink-2 lg:block">
          {label !== provider.name && label}
        </span>
        <span className="text-right lg:text-left">
          <KeyState provider={provider} />
        </span>
        <span className="hidden text-right text-xs text-ink-3 lg:block">
          <RelativeTime time={provider.createdAt} />
        </span>
      </Link>
    </li>
  );
}

function NoProviders({ onAdd }: { onAdd: (() => void) | undefined }) {
  return (
    <EmptyState
      icon={<Cpu size={20} />}
      title="No providers yet"
      action={
        onAdd && (
          <Button look="primary" onClick={onAdd}>
            Add a provider
          </Button>
        )
      }
      request={curlRequest(
        "mutation ($input: CreateProviderInput!) { createProvider(input: $input) { provider { id } userErrors { path message } } }",
        { input: { name: "anthropic", kind: "ANTHROPIC", apiKey: "YOUR KEY" } },
      )}
    >
      A provider is a service that runs models: Anthropic, OpenAI, Google, or a server of your own.
    </EmptyState>
  );
}
