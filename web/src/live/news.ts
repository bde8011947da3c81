import type { WaitNewsQuery } from "@/gql/graphql";
import type { OrgEvent } from "./orgState";

/** The ids of what an event of the organization says has begun to wait for people: waits, or a session that a budget has paused. */
export function newsOf(event: OrgEvent): string[] {
  switch (event.__typename) {
    case "ApprovalRequested":
      return [event.waitId];
    case "TurnWaiting":
      return event.waits.filter(({ kind }) => kind === "QUESTION").map(({ id }) => id);
    case "SessionPaused":
      return event.sessionId === null ? [] : [event.sessionId];
    default:
      return [];
  }
}

type Read = NonNullable<WaitNewsQuery["node"]>;

/** What a notification says, and of which session; null for what is over, or not for the viewer to resolve. */
export function notice(read: Read, mayResume: boolean) {
  switch (read.__typename) {
    case "Wait": {
      if (read.state !== "OPEN" || !read.viewerMayResolve) return null;
      const what =
        read.kind === "APPROVAL"
          ? `Approval needed: ${read.toolName ?? "a tool"}`
          : `Question: ${read.question ?? ""}`;
      return { title: what, body: placeOf(read.session.title), sessionId: read.session.id };
    }
    case "Session":
      if (read.status !== "PAUSED" || !mayResume) return null;
      return { title: "Paused by a budget", body: placeOf(read.title), sessionId: read.id };
    default:
      return null;
  }
}

function placeOf(title: string | null): string {
  return `In ${title ?? "an untitled session"}`;
}
