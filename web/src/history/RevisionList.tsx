import type { RevisionFieldsFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { RelativeTime } from "@/ui/Time";
import { fieldLabel } from "./fieldDiff";

interface RevisionListProps {
  revisions: readonly RevisionFieldsFragment[];
  current: number;
  shown: number;
  onShow: (number: number) => void;
}

export function RevisionList({ revisions, current, shown, onShow }: RevisionListProps) {
  return (
    <ol aria-label="Revisions" className="card divide-y divide-line overflow-hidden">
      {revisions.map((revision) => (
        <li key={revision.number}>
          <button
            type="button"
            aria-pressed={revision.number === shown}
            onClick={() => onShow(revision.number)}
            className={classes(
              "block w-full px-3 py-2 text-left text-sm transition-colors focus-visible:-outline-offset-2",
              revision.number === shown ? "bg-hover" : "hover:bg-hover",
            )}
          >
            <span className="flex items-baseline justify-between gap-2">
              <span className="font-medium">
                Revision {revision.number}{" "}
                {revision.number === current && <Badge tone="accent">current</Badge>}
              </span>
              <span className="text-xs text-ink-3">
                <RelativeTime time={revision.createdAt} />
              </span>
            </span>
            <span className="block truncate text-xs text-ink-2">by {revision.actor.name}</span>
            {revision.reason && (
              <span className="mt-0.5 block text-xs text-ink-2 wrap-anywhere">
                “{revision.reason}”
              </span>
            )}
            <span className="mt-0.5 block text-xs text-ink-3">
              {revision.changes.length > 0
                ? revision.changes.map(({ field }) => fieldLabel(field)).join(", ")
                : "Created"}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
