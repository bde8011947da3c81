import type { SessionRowFragment } from "@/gql/graphql";
import type { OrgState } from "@/live/orgState";

/** The rows of a list as events have changed them since it was read. Which rows it has is left as it was. */
export function liveRows(
  rows: readonly SessionRowFragment[],
  org: OrgState,
): readonly SessionRowFragment[] {
  if (Object.keys(org.sessions).length === 0) return rows;
  return rows.map((row) => {
    const known = org.sessions[row.id];
    if (!known || known.sequence <= row.lastSequence) return row;
    return {
      ...row,
      status: known.status,
      title: known.title ?? row.title,
      updatedAt: known.updatedAt,
    };
  });
}
