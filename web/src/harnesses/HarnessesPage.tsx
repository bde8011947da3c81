import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Layers, Plus } from "lucide-react";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { CatalogFilters } from "@/catalog/CatalogFilters";
import { HarnessesDocument, type HarnessRowFragment } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorNote } from "@/ui/ErrorNote";
import { SkeletonRows } from "@/ui/Loading";
import { LoadMore } from "@/ui/LoadMore";
import { PageHeader } from "@/ui/PageHeader";
import { RelativeTime } from "@/ui/Time";
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
    <>
      <PageHeader title="Harnesses">
        {mayWrite && (
          <Link to="/harnesses/new" className={buttonClasses("primary")}>
            <Plus size={15} aria-hidden />
            New harness
          </Link>
        )}
      </PageHeader>
      <CatalogFilters
        what="harnesses"
        search={{ q, archived }}
        onChange={(change) =>
          void navigate({ search: (old) => ({ ...old, ...change }), replace: true })
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {harnesses.error && (
          <div className="p-4">
            <ErrorNote onRetry={harnesses.reload}>{describeError(harnesses.error)}</ErrorNote>
          </div>
        )}
        {harnesses.loading && <SkeletonRows />}
        {!harnesses.loading && !harnesses.error && harnesses.nodes.length === 0 && (
          <EmptyState icon={<Layers size={20} />} title="No harness has a name like that">
            The search looks at the start of names.
          </EmptyState>
        )}
        <ul>
          {harnesses.nodes.map((harness) => (
            <HarnessListRow key={harness.id} harness={harness} />
          ))}
        </ul>
        <LoadMore
          hasMore={harnesses.hasMore}
          loading={harnesses.loadingMore}
          onLoad={harnesses.loadMore}
        />
      </div>
    </>
  );
}

function HarnessListRow({ harness }: { harness: HarnessRowFragment }) {
  const archived = harness.lifecycle !== "ACTIVE";
  return (
    <li className="border-b border-line">
      <Link
        to="/harnesses/$harnessId"
        params={{ harnessId: harness.id }}
        className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-0.5 px-4 py-2.5 transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:px-6 lg:grid-cols-[minmax(0,1fr)_10rem_10rem_6rem]"
      >
        <div className={classes("min-w-0", archived && "opacity-70")}>
          <div className="flex min-w-0 items-center gap-2">
            <span className="truncate text-sm font-medium">{harness.displayName}</span>
            <span className="truncate font-mono text-2xs text-ink-3">{harness.name}</span>
            {harness.builtIn && <Badge>built in</Badge>}
            {archived && <Badge>{harness.lifecycle.toLowerCase()}</Badge>}
          </div>
          <p className="truncate text-xs text-ink-3">{harness.description || "No description"}</p>
        </div>
        <span className="hidden truncate text-xs text-ink-2 lg:block">
          {harness.parent ? `from ${harness.parent.displayName}` : "No parent"}
        </span>
        <span className="hidden truncate text-xs text-ink-2 lg:block">
          {harness.defaultModel?.displayName ?? "Inherited model"}
        </span>
        <span className="text-right text-xs text-ink-3">
          <RelativeTime time={harness.updatedAt} />
        </span>
      </Link>
    </li>
  );
}
