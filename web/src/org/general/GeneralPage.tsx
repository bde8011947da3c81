import { useFresh } from "@/api/useFresh";
import { OrgSettingsDocument, type OrgSettingsFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { CopyBlock } from "@/ui/CopyBlock";
import { RequestError } from "@/ui/ErrorNote";
import { Fact } from "@/ui/Fact";
import { formatDateTime } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { OrgPage } from "../OrgPage";
import { GeneralForm } from "./GeneralForm";

export function GeneralPage() {
  const mayManage = useMay("ORG_MANAGE");
  const { data, error, fetching, reload } = useFresh(OrgSettingsDocument, {});
  const org = data?.org;
  return (
    <OrgPage title="General">
      <div className="mx-auto grid max-w-5xl gap-x-10 gap-y-8 p-4 sm:p-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0 space-y-4">
          <h2 className="text-sm font-semibold">General</h2>
          <RequestError error={error} onRetry={reload} />
          {!org && fetching && <Spinner />}
          {org && !mayManage && <Facts org={org} />}
          {org && mayManage && <GeneralForm org={org} />}
        </div>
        {org && (
          <aside aria-label="Identity" className="min-w-0 space-y-4 text-sm">
            <h2 className="text-sm font-semibold">Identity</h2>
            <dl className="card divide-y divide-line">
              <Fact label="Slug">
                <span className="font-mono text-xs wrap-anywhere">{org.slug}</span>
              </Fact>
              <Fact label="Created">{formatDateTime(org.createdAt)}</Fact>
            </dl>
            <div>
              <p className="mb-1.5 text-xs text-ink-3">ID (for the API)</p>
              <CopyBlock text={org.id} label="Copy ID" />
            </div>
            <p className="text-xs text-ink-3">The slug and ID can't be changed.</p>
          </aside>
        )}
      </div>
    </OrgPage>
  );
}

function Facts({ org }: { org: OrgSettingsFragment }) {
  return (
    <>
      <dl className="card divide-y divide-line text-sm">
        <Fact label="Name">{org.name}</Fact>
        <Fact label="Default harness">{org.defaultHarness?.displayName ?? "None"}</Fact>
        <Fact label="Default model">{org.defaultModel?.displayName ?? "None"}</Fact>
        <Fact label="Models without a price">
          {org.allowUnpricedModels
            ? "Allowed under dollar budgets, not counted"
            : "Rejected under dollar budgets"}
        </Fact>
      </dl>
      <p className="text-xs text-ink-3">Owners can change these.</p>
    </>
  );
}
