import { useNavigate, useSearch } from "@tanstack/react-router";
import { RotateCw, ScrollText } from "lucide-react";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { AuditEntriesDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { curlRequest } from "@/ui/graphqlRequest";
import { SkeletonRows } from "@/ui/Loading";
import { LoadMore } from "@/ui/LoadMore";
import { OrgPage } from "../OrgPage";
import { AuditEntryRow } from "./AuditEntryRow";
import { AuditFilters } from "./AuditFilters";
import { ChainCheck } from "./ChainCheck";
import { type AuditSearch, auditFilter } from "./search";

export function AuditPage() {
  const search = useSearch({ from: "/app/organization/audit" });
  const navigate = useNavigate({ from: "/organization/audit" });
  const filter = auditFilter(search);
  const entries = usePages(
    AuditEntriesDocument,
    { first: 50, filter },
    (data) => data.auditEntries,
  );
  const { nodes, loading, error } = entries;
  const narrow = (change: { [Key in keyof AuditSearch]: AuditSearch[Key] | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...change }), replace: true });

  return (
    <OrgPage
      title="Audit log"
      about="Who did what, in a chain in which a change or a gap shows."
      actions={
        <>
          <Button look="ghost" onClick={entries.reload}>
            <RotateCw size={14} aria-hidden />
            Reload
          </Button>
          <ChainCheck />
        </>
      }
      bar={<AuditFilters search={search} onChange={narrow} />}
    >
      {error && (
        <div className="p-4 sm:px-6">
          <ErrorNote onRetry={entries.reload}>{describeError(error)}</ErrorNote>
        </div>
      )}
      {loading && <SkeletonRows />}
      {!loading && !error && nodes.length === 0 && (
        <EmptyState
          icon={<ScrollText size={20} />}
          title={filter ? "No entry matches" : "Nothing is recorded yet"}
          {...(filter && {
            action: (
              <Button onClick={() => void navigate({ search: {}, replace: true })}>
                Clear the filters
              </Button>
            ),
          })}
          request={curlRequest(
            "query ($filter: AuditFilter) { auditEntries(first: 50, filter: $filter) { nodes { position action actor { name } targetId createdAt } } }",
            { filter },
          )}
        >
          Sign-ins, members, keys, providers and all changes of agents and harnesses are recorded
          here.
        </EmptyState>
      )}
      {nodes.length > 0 && (
        <ol aria-label="Audit entries">
          {nodes.map((entry) => (
            <AuditEntryRow key={entry.id} entry={entry} onNarrow={narrow} />
          ))}
        </ol>
      )}
      <LoadMore hasMore={entries.hasMore} loading={entries.loadingMore} onLoad={entries.loadMore} />
    </OrgPage>
  );
}
