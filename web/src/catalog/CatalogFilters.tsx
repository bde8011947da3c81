import { Search } from "lucide-react";
import { useState } from "react";
import type { Change } from "@/shell/search";
import type { CatalogListSearch } from "./search";

export interface CatalogFiltersProps {
  /** What is listed, e.g. "agents". */
  what: string;
  search: CatalogListSearch;
  onChange: (change: Change<CatalogListSearch>) => void;
}

/** A search by name, and whether to show what is archived. */
export function CatalogFilters({ what, search, onChange }: CatalogFiltersProps) {
  // The router applies a new address a moment later, too late for a text field to wait for.
  const [text, setText] = useState(search.q ?? "");
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2 sm:px-6">
      <div className="relative w-full sm:w-64">
        <Search size={14} className="absolute top-2.25 left-2.5 text-ink-3" aria-hidden />
        <input
          type="search"
          aria-label={`Search ${what} by name`}
          placeholder="Search by name"
          className="control pl-8"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            onChange({ q: event.target.value.trim() || undefined });
          }}
        />
      </div>
      <label className="flex items-center gap-2 text-sm text-ink-2">
        <input
          type="checkbox"
          className="size-3.5 accent-accent"
          checked={search.archived ?? false}
          onChange={(event) => onChange({ archived: event.target.checked || undefined })}
        />
        Show archived
      </label>
    </div>
  );
}
