import type { MatchLineFragment, SessionRowFragment } from "@/gql/graphql";
import { failureOf, type LiveFailure, type OrgState, statusOf } from "@/live/orgState";

/** A session as it was read: where it was searched for, with the place that was found. */
export type SessionRead = SessionRowFragment & { match?: MatchLineFragment | null };

/** A row of the list: the session, and how its latest turn went wrong. */
export type SessionListRow = SessionRead & { failure: LiveFailure | null };

/** The rows of a list as events have changed them since it was read. Which rows it has is left as it was. */
export function liveRows(rows: readonly SessionRead[], org: OrgState): SessionListRow[] {
  return rows.map((row) => {
    const known = org.sessions[row.id];
    if (!known || known.sequence <= row.lastSequence) {
      return { ...row, status: statusOf(row), failure: failureOf(row) };
    }
    return {
      ...row,
      status: known.status,
      title: known.title ?? row.title,
      updatedAt: known.updatedAt,
      failure: known.failure === undefined ? failureOf(row) : known.failure,
    };
  });
}
