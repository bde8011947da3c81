import { describeError } from "@/api/errors";
import { SessionNowDocument } from "@/gql/graphql";
import type { SessionEvent } from "../feed/event";
import { pagesBefore, readPage } from "../feed/transport";

/** All events of a session, oldest first. */
export async function readLog(sessionId: string): Promise<SessionEvent[]> {
  const { data, error } = await readPage(SessionNowDocument, { id: sessionId });
  if (!data?.session) throw new Error(error ? describeError(error) : "There is no such session.");
  const readBefore = pagesBefore(sessionId);
  const pages = [data.session.events];
  for (let { pageInfo } = data.session.events; pageInfo.hasPreviousPage; ) {
    const page = pageInfo.startCursor === null ? null : await readBefore(pageInfo.startCursor);
    if (!page) throw new Error("Part of the session could not be read. Try again.");
    pages.push(page);
    pageInfo = page.pageInfo;
  }
  return pages.toReversed().flatMap(({ nodes }) => nodes);
}
