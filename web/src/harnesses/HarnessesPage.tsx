import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Layers } from "lucide-react";
import { CatalogPage, ROW_CLASSES, RowContent } from "@/definitions/CatalogPage";
import { HarnessesDocument } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { EmptyState } from "@/ui/EmptyState";

export function HarnessesPage() {
  const search = useSearch({ from: "/app/harnesses" });
  const navigate = useNavigate({ from: "/harnesses" });
  return (
    <CatalogPage
      kind="harness"
      title="Harnesses"
      about="A harness is what agents have in common: the base prompt, tools and limits that each agent on it inherits."
      search={search}
      onSearch={(change) =>
        void navigate({ search: (old) => ({ ...old, ...change }), replace: true })
      }
      query={HarnessesDocument}
      connectionIn={(data) => data.harnesses}
      empty={
        <EmptyState icon={<Layers size={20} />} title="No harness has a name like that">
          The search looks at the start of names.
        </EmptyState>
      }
      row={(harness) => (
        <li key={harness.id} className="border-b border-line">
          <Link
            to="/harnesses/$harnessId"
            params={{ harnessId: harness.id }}
            className={ROW_CLASSES}
          >
            <RowContent
              of={harness}
              basis={harness.parent ? `from ${harness.parent.displayName}` : "No parent"}
              badges={harness.builtIn && <Badge>built in</Badge>}
            />
          </Link>
        </li>
      )}
    />
  );
}
