import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { HarnessDocument, HarnessHistoryDocument, RestoreHarnessDocument } from "@/gql/graphql";
import { HistoryView } from "./HistoryView";

export function HarnessHistoryPage() {
  const { harnessId } = useParams({ from: "/app/harnesses/$harnessId/history" });
  const navigate = useNavigate({ from: "/harnesses/$harnessId/history" });
  return (
    <HistoryView
      id={harnessId}
      query={HarnessDocument}
      revisionsQuery={HarnessHistoryDocument}
      restoration={RestoreHarnessDocument}
      search={useSearch({ from: "/app/harnesses/$harnessId/history" })}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      list={<Link to="/harnesses">Harnesses</Link>}
      page={(name) => (
        <Link to="/harnesses/$harnessId" params={{ harnessId }}>
          {name}
        </Link>
      )}
    />
  );
}
