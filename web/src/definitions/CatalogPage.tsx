import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import type { TypedDocumentNode } from "urql";
import { type Connection, usePages } from "@/api/usePages";
import { CatalogFilters, type CatalogFiltersProps } from "@/catalog/CatalogFilters";
import { nameBeside } from "@/catalog/names";
import type { CatalogListSearch } from "@/catalog/search";
import type { Lifecycle } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { Badge } from "@/ui/Badge";
import { buttonClasses } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { ListBody } from "@/ui/ListBody";
import { PageHeader } from "@/ui/PageHeader";
import { RelativeTime } from "@/ui/Time";
import { useDebounced } from "@/ui/useDebounced";

interface CatalogQuery {
  first: number;
  search?: string | null;
  includeArchived?: boolean | null;
}

interface CatalogPageProps<Data, Node> {
  kind: "agent" | "harness";
  title: string;
  /** What such a thing is, and is not. */
  about: string;
  search: CatalogListSearch;
  onSearch: CatalogFiltersProps["onChange"];
  query: TypedDocumentNode<Data, CatalogQuery>;
  connectionIn: (data: Data) => Connection<Node>;
  empty: ReactNode;
  row: (node: Node) => ReactNode;
}

/** A list of agents or harnesses. */
export function CatalogPage<Data, Node>(props: CatalogPageProps<Data, Node>) {
  const { kind, title, search } = props;
  const mayWrite = useMay("CATALOG_WRITE");
  const prefix = useDebounced(search.q ?? null, 200);
  const variables = { first: 50, search: prefix, includeArchived: search.archived ?? false };
  const pages = usePages(props.query, variables, props.connectionIn);
  return (
    <>
      <PageHeader title={title}>
        {mayWrite && (
          <Link
            to={kind === "agent" ? "/agents/new" : "/harnesses/new"}
            className={buttonClasses("primary")}
          >
            <Plus size={15} aria-hidden />
            New {kind}
          </Link>
        )}
      </PageHeader>
      <p className="shrink-0 px-4 pt-2.5 text-sm text-ink-2 sm:px-6">{props.about}</p>
      <CatalogFilters what={title.toLowerCase()} search={search} onChange={props.onSearch} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListBody list={pages} empty={props.empty}>
          <ul>{pages.nodes.map(props.row)}</ul>
        </ListBody>
      </div>
    </>
  );
}

/** The classes of the link that a row is. */
export const ROW_CLASSES =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-0.5 px-4 py-2.5 transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:px-6 lg:grid-cols-[minmax(0,1fr)_10rem_10rem_6rem]";

interface RowContentProps {
  of: {
    name: string;
    displayName: string;
    description: string | null;
    lifecycle: Lifecycle;
    updatedAt: string;
    defaultModel: { displayName: string } | null;
  };
  badges?: ReactNode;
  /** What it is based on. */
  basis: string;
}

/** What a row of a list of agents or harnesses says. */
export function RowContent({ of, badges, basis }: RowContentProps) {
  const archived = of.lifecycle !== "ACTIVE";
  return (
    <>
      <div className={classes("min-w-0", archived && "opacity-70")}>
        <div className="flex min-w-0 items-center gap-2">
          <span className="truncate text-sm font-medium">{of.displayName}</span>
          <span className="truncate font-mono text-2xs text-ink-3">{nameBeside(of)}</span>
          {archived && <Badge>{of.lifecycle.toLowerCase()}</Badge>}
          {badges}
        </div>
        <p className="truncate text-xs text-ink-3">{of.description || "No description"}</p>
      </div>
      <span className="hidden truncate text-xs text-ink-2 lg:block">{basis}</span>
      <span className="hidden truncate text-xs text-ink-2 lg:block">
        {of.defaultModel?.displayName ?? "Inherited model"}
      </span>
      <span className="text-right text-xs text-ink-3">
        <RelativeTime time={of.updatedAt} />
      </span>
    </>
  );
}
