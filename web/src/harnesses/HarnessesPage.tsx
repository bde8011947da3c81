import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Layers, Plus } from "lucide-react";
import { usePages } from "@/api/usePages";
import { CatalogPage, ROW_CLASSES, RowContent } from "@/definitions/CatalogPage";
import { HarnessesDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { EmptyState } from "@/ui/EmptyState";
import { useDebounced } from "@/ui/useDebounced";

export function HarnessesPage() {
  const { q, archived } = useSearch({ from: "/app/harnesses" });
  const navigate = useNavigate({ from: "/harnesses" });
  const mayWrite = useMay("CATALOG_WRITE");
  const search = useDebounced(q ?? null, 200);
  const harnesses = usePages(
    HarnessesDocument,
    { first: 50, search, includeArchived: archived ?? false },
    (data) => data.harnesses,
  );
  return (
    <CatalogPage
      title="Harnesses"
      create={
        mayWrite && (
          <Link to="/harnesses/new" className={buttonClasses("primary")}>
            <Plus size={15} aria-hidden />
            New harness
          </Link>
        )
      }
      search={{ q, archived }}
      onSearch={(change) =>
        void navigate({ search: (old) => ({ ...old, ...change }), replace: true })
      }
      pages={harnesses}
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
