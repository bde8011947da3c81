import type { DecisionFieldsFragment } from "@/gql/graphql";
import { RelativeTime } from "@/ui/Time";

/** What people have decided. */
export function DecisionList({ decisions }: { decisions: readonly DecisionFieldsFragment[] }) {
  if (decisions.length === 0) return null;
  return (
    <ul aria-label="Decisions" className="space-y-1 text-xs text-ink-2">
      {decisions.map(({ actor, approve, arguments: own, note, createdAt }) => (
        <li key={`${actor.kind}:${actor.id}:${createdAt}`} className="wrap-anywhere">
          <span className="font-medium text-ink">{actor.name}</span>{" "}
          {approve ? "approved" : "denied"}
          {own !== null && own !== undefined && " with edited arguments"}
          {note && `: ${note}`} · <RelativeTime time={createdAt} />
        </li>
      ))}
    </ul>
  );
}
