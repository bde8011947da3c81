import { expect, it } from "vitest";
import { newsOf, notice } from "./news";
import type { OrgEvent } from "./orgState";

const event = (name: string, own: object) =>
  ({ __typename: name, sessionId: "sess_1", ...own }) as unknown as OrgEvent;

it("hears of what people resolve, and of nothing else", () => {
  expect(newsOf(event("ApprovalRequested", { waitId: "wait_1" }))).toEqual(["wait_1"]);
  const waits = [
    { id: "wait_2", kind: "QUESTION" },
    { id: "wait_3", kind: "CLIENT_TOOL" },
    { id: "wait_1", kind: "APPROVAL" },
  ];
  expect(newsOf(event("TurnWaiting", { waits }))).toEqual(["wait_2"]);
  expect(newsOf(event("SessionPaused", {}))).toEqual(["sess_1"]);
  expect(newsOf(event("TurnCompleted", {}))).toEqual([]);
});

const approval = {
  __typename: "Wait" as const,
  id: "wait_1",
  kind: "APPROVAL" as const,
  state: "OPEN" as const,
  toolName: "write_file",
  question: null,
  viewerMayResolve: true,
  session: { __typename: "Session" as const, id: "sess_1", title: "Barn" },
};

it("tells of what is still open, and of that which the viewer may resolve", () => {
  expect(notice(approval, false)).toEqual({
    title: "Approval needed: write_file",
    body: "In Barn",
    sessionId: "sess_1",
  });
  expect(notice({ ...approval, viewerMayResolve: false }, true)).toBeNull();
  expect(notice({ ...approval, state: "OK" }, true)).toBeNull();
  const paused = {
    __typename: "Session" as const,
    id: "sess_1",
    title: null,
    status: "PAUSED" as const,
  };
  expect(notice(paused, true)).toMatchObject({ body: "In an untitled session" });
  expect(notice(paused, false)).toBeNull();
  expect(notice({ ...paused, status: "ACTIVE" }, true)).toBeNull();
});
