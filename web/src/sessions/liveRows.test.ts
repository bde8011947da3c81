import { expect, it } from "vitest";
import type { SessionRowFragment } from "@/gql/graphql";
import { initialOrgState, type LiveSession } from "@/live/orgState";
import { liveRows } from "./liveRows";

const row = { id: "sess_1", title: "A", status: "IDLE", lastSequence: 5 } as SessionRowFragment;
const known = (sequence: number, own: Partial<LiveSession> = {}) => ({
  ...initialOrgState,
  sessions: {
    sess_1: { id: "sess_1", status: "ACTIVE", sequence, title: null, ...own } as LiveSession,
  },
});

it("shows what events have said since the list was read", () => {
  expect(liveRows([row], known(6))[0]).toMatchObject({ status: "ACTIVE", title: "A" });
  expect(liveRows([row], known(6, { title: "B" }))[0]).toMatchObject({ title: "B" });
});

it("leaves alone what the list knows as well or better", () => {
  expect(liveRows([row], known(5))[0]).toBe(row);
  expect(liveRows([row], initialOrgState)[0]).toBe(row);
});
