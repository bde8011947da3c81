import { useQuery } from "urql";
import { useFresh } from "@/api/useFresh";
import {
  OrgLimitCountsDocument,
  OrgLimitsDocument,
  type OrgLimitValuesFragment,
} from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { OrgPage } from "../OrgPage";
import {
  type Counts,
  countText,
  ENVIRONMENT_KEYS,
  LIMITS,
  limitText,
  storageWarning,
} from "./draft";
import { LimitsForm } from "./LimitsForm";
import { OtherOrgKeys } from "./OtherOrgKeys";

/** What the organization may have and do; operators of the server can change it. */
export function LimitsPage() {
  const operator = useMay("PLATFORM_MANAGE");
  const { data, error, fetching, reload } = useFresh(OrgLimitsDocument, {});
  const org = data?.org;
  const counts = { ...useCounts(), ...(org && { storageBytes: org.storedBytes }) };
  const warning = org ? storageWarning(org.storedBytes, org.limits.storageBytes) : null;
  return (
    <OrgPage title="Limits" about="Limits on what the organization can use.">
      <div className="max-w-3xl space-y-4 px-4 pt-1 pb-6 sm:px-6">
        <RequestError error={error} onRetry={reload} />
        {warning && <ErrorNote>{warning}</ErrorNote>}
        {!org && fetching && <Spinner />}
        {org && operator && <LimitsForm org={org} counts={counts} />}
        {operator && <OtherOrgKeys />}
        {org && !operator && <Facts limits={org.limits} counts={counts} />}
      </div>
    </OrgPage>
  );
}

/** How much there is of what the viewer may read. It is left out when it can't be read: the limits are what matters. */
function useCounts(): Counts {
  const sessions = useMay("SESSIONS_READ");
  const agents = useMay("CATALOG_READ");
  const [{ data }] = useQuery({
    query: OrgLimitCountsDocument,
    variables: { sessions, agents },
    requestPolicy: "network-only",
    pause: !sessions && !agents,
  });
  return {
    ...(data?.sessions && { sessions: data.sessions.totalCount }),
    ...(data?.agents && { agents: data.agents.totalCount }),
  };
}

function Facts({ limits, counts }: { limits: OrgLimitValuesFragment; counts: Counts }) {
  return (
    <>
      {/* Without a field or a link in it, the keyboard could not move the page otherwise. */}
      <dl tabIndex={0} className="card divide-y divide-line text-sm">
        {LIMITS.map(({ name, label, about }) => {
          const count = countText(counts[name]);
          return (
            <div key={name} className="flex items-start justify-between gap-4 px-3 py-2">
              <dt className="min-w-0">
                {label}
                <span className="block text-xs text-ink-3">{about}</span>
              </dt>
              <dd className="shrink-0 text-right tabular-nums">
                {limitText(limits[name], name)}
                {count !== null && <span className="block text-xs text-ink-3">{count}</span>}
              </dd>
            </div>
          );
        })}
        <div className="flex items-start justify-between gap-4 px-3 py-2">
          <dt className="min-w-0">
            {ENVIRONMENT_KEYS.label}
            <span className="block text-xs text-ink-3">{ENVIRONMENT_KEYS.about}</span>
          </dt>
          <dd className="shrink-0">{limits.environmentKeys ? "yes" : "no"}</dd>
        </div>
      </dl>
      <p className="text-xs text-ink-3">Operators of this server can change these.</p>
    </>
  );
}
