import { Link, useParams } from "@tanstack/react-router";
import { useFresh } from "@/api/useFresh";
import { ProviderPageDocument, type ProviderRowFragment } from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { PageHeader, Trail } from "@/ui/PageHeader";
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
  return <Missing fetching={fetching} error={error} reload={reload} />;
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
          <Trail list={<Link to="/models">Models and providers</Link>} name={provider.name}>
            {PROVIDER_KINDS[kind].label !== provider.name && (
              <Badge>{PROVIDER_KINDS[kind].label}</Badge>
            )}
            <KeyState provider={provider} />
            {lifecycle !== "ACTIVE" && <Badge tone="warn">{lifecycle.toLowerCase()}</Badge>}
          </Trail>
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
