import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMutation } from "urql";
import { useFresh } from "@/api/useFresh";
import { usePages } from "@/api/usePages";
import { HarnessDocument, HarnessHistoryDocument, RestoreHarnessDocument } from "@/gql/graphql";
import { Missing } from "@/shell/Fallbacks";
import { useMay } from "@/shell/viewer";
import { HistoryView } from "./HistoryView";
import { restoreAnswer } from "./restore";
import { NO_REVISIONS } from "./search";

export function HarnessHistoryPage() {
  const { harnessId: id } = useParams({ from: "/app/harnesses/$harnessId/history" });
  const search = useSearch({ from: "/app/harnesses/$harnessId/history" });
  const navigate = useNavigate({ from: "/harnesses/$harnessId/history" });
  const mayWrite = useMay("CATALOG_WRITE");
  const [, restore] = useMutation(RestoreHarnessDocument);
  const { data, error, fetching, reload } = useFresh(HarnessDocument, { id });
  const revisions = usePages(
    HarnessHistoryDocument,
    { id, first: 50 },
    ({ harness }) => harness?.history ?? NO_REVISIONS,
  );
  const harness = data?.harness;
  if (!harness) return <Missing fetching={fetching} error={error} reload={reload} />;
  const restorable = mayWrite && harness.lifecycle === "ACTIVE" && !harness.builtIn;
  return (
    <HistoryView
      list={<Link to="/harnesses">Harnesses</Link>}
      page={
        <Link to="/harnesses/$harnessId" params={{ harnessId: id }}>
          {harness.displayName}
        </Link>
      }
      current={harness.revision}
      revisions={revisions}
      search={search}
      onCompare={(next) => void navigate({ search: next, replace: true })}
      restore={
        restorable
          ? async (revision, reason) => {
              const answer = await restore({ id, revision, reason });
              const payload = answer.data?.restoreHarness;
              return restoreAnswer(payload, payload?.harness, answer.error);
            }
          : null
      }
    />
  );
}
