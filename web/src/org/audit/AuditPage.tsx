import { useNavigate, useSearch } from "@tanstack/react-router";
import { ScrollText } from "lucide-react";
import { usePages } from "@/api/usePages";
import { AuditEntriesDocument } from "@/gql/graphql";
import { type Change, changed } from "@/shell/search";
import { Button, ReloadButton } from "@/ui/Button";
import { CsvLink } from "@/ui/CsvLink";
import { EmptyState } from "@/ui/EmptyState";
import { curlRequest } from "@/ui/graphqlRequest";
import { ListBody } from "@/ui/ListBody";
import { OrgPage } from "../OrgPage";
import { AuditEntryRow } from "./AuditEntryRow";
import { AuditFilters } from "./AuditFilters";
import { ChainCheck } from "./ChainCheck";
import { type AuditSearch, auditFilter, auditParameters } from "./search";

export function AuditPage() {
  const search = useSearch({ from: "/app/organization/audit" });
  const navigate = useNavigate({ from: "/organization/audit" });
  const filter = auditFilter(search);
  const entries = usePages(
    AuditEntriesDocument,
    { first: 50, filter },
    (data) => data.auditEntries,
  );
  const narrow = (change: Change<AuditSearch>) =>
    void navigate({ search: (old) => changed(old, change), replace: true });

  return (
    <OrgPage
      title="Audit log"
      about="Tamper-evident log of sign-ins and changes to the organization, its members, keys, agents, models, budgets and webhooks."
      actions={
        <>
          <ReloadButton onClick={entries.reload} />
          <CsvLink of="audit" parameters={auditParameters(search)}>
            Download CSV
          </CsvLink>
          <ChainCheck />
        </>
      }
      bar={<AuditFilters search={search} onChange={narrow} />}
    >
      <ListBody
        list={entries}
        empty={
          <EmptyState
            icon={<ScrollText size={20} />}
            title={filter ? "No entries match" : "No entries yet"}
            {...(filter && {
              action: (
                <Button onClick={() => void navigate({ search: {}, replace: true })}>
                  Clear filters
                </Button>
              ),
            })}
            request={curlRequest(
              "query ($filter: AuditFilter) { auditEntries(first: 50, filter: $filter) { nodes { position action actor { name } targetId createdAt } } }",
              { filter },
            )}
          >
            Sign-ins and changes to members, keys, providers, agents and harnesses appear here.
          </EmptyState>
        }
      >
        <ol aria-label="Audit entries">
          {entries.nodes.map((entry) => (
            <AuditEntryRow key={entry.id} entry={entry} onNarrow={narrow} />
          ))}
        </ol>
      </ListBody>
    </OrgPage>
  );
}
