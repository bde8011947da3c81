import { Link, useParams } from "@tanstack/react-router";
import { useFresh } from "@/api/useFresh";
import { ProviderPageDocument, type ProviderRowFragment } from "@/gql/graphql";
import { NotFound } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { PageHeader } from "@/ui/PageHeader";
import { ArchiveProvider } from "./ArchiveProvider";
import { KeyState } from "./KeyState";
import { PROVIDER_KINDS } from "./kinds";
import { ProviderModels } from "./ProviderModels";
import { ProviderSettings } from "./ProviderSettings";

export function ProviderPage() {
  const { providerId } = useParams({ from: "/app/models/$providerId" });
  const { data, error, fetching, reload } = useFresh(ProviderPageDocument, { id: providerId });
  const provider = data?.node?.__typename === "Provider" ? data.node : null;
  if (provider) return <Provider key={provider.id} provider={provider} />;
  return (
    <div className="p-6">
      {fetching && <Spinner />}
      <RequestError error={error} onRetry={reload} />
      {!fetching && !error && <NotFound />}
    </div>
  );
}

function Provider({ provider }: { provider: ProviderRowFragment }) {
  const mayManage = useMay("PROVIDERS_MANAGE");
  const { kind, lifecycle } = provider;
  const editable = mayManage && lifecycle === "ACTIVE";
  return (
    <>
      <PageHeader
        subject={provider.name}
        title={
          <span className="flex min-w-0 flex-wrap items-center gap-2">
            <Link to="/models" className="font-normal text-ink-3 hover:text-ink">
              Models and providers
            </Link>
            <span className="text-ink-3" aria-hidden>
              /
            </span>
            <span className="truncate">{provider.name}</span>
            <Badge>{PROVIDER_KINDS[kind].label}</Badge>
            <KeyState provider={provider} />
            {lifecycle !== "ACTIVE" && <Badge tone="warn">{lifecycle.toLowerCase()}</Badge>}
          </span>
        }
      >
        {editable && <ArchiveProvider provider={provider} />}
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid max-w-7xl gap-x-10 gap-y-8 p-4 sm:p-6 xl:grid-cols-[minmax(0,1fr)_24rem]">
          <ProviderModels provider={provider} editable={editable} />
          <ProviderSettings provider={provider} editable={editable} />
        </div>
      </div>
    </>
  );
}
