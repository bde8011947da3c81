import { expect, it } from "vitest";
import type { SessionRowFragment } from "@/gql/graphql";
import { initialOrgState, type LiveSession } from "@/live/orgState";
import { liveRows } from "./liveRows";

const turn = (status: string, own: object = {}) => ({
  id: `turn_${status}`,
  status,
  startedAt: "2026-01-01T00:00:00Z",
  finishedAt: "2026-01-01T00:00:01Z",
  error: { code: "provider_unavailable", message: "It is down." },
  ...own,
});
const rowWith = (...nodes: object[]) =>
  ({
    id: "sess_1",
    title: "A",
    status: "IDLE",
    lastSequence: 5,
    forkedThrough: 0,
    turns: { nodes },
  }) as unknown as SessionRowFragment;
const row = rowWith();
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
  expect(liveRows([row], known(5))[0]).toMatchObject(row);
  expect(liveRows([row], initialOrgState)[0]).toMatchObject(row);
});

it("calls a fork new until it has a turn of its own", () => {
  const fork = { ...row, forkedThrough: 5 };
  const own = { ...rowWith({ ...turn("COMPLETED"), endedSequence: 9 }), forkedThrough: 5 };
  const before = { ...rowWith({ ...turn("COMPLETED"), endedSequence: 4 }), forkedThrough: 5 };
  const statuses = liveRows([fork, before, own], initialOrgState).map(({ status }) => status);
  expect(statuses).toEqual(["STARTED", "STARTED", "IDLE"]);
});

it("marks sessions whose latest turn failed, and no others", () => {
  const failure = (...turns: object[]) =>
    liveRows([rowWith(...turns)], initialOrgState)[0]?.failure;
  expect(failure(turn("FAILED"), turn("COMPLETED"))).toMatchObject({ sealed: false });
  expect(failure(turn("SEALED"))).toMatchObject({ sealed: true, message: "It is down." });
  expect(failure(turn("COMPLETED"), turn("FAILED"))).toBeNull();
  expect(failure(turn("RUNNING", { finishedAt: null }), turn("FAILED"))).not.toBeNull();
  expect(failure(turn("CANCELLED", { startedAt: null }), turn("FAILED"))).not.toBeNull();
});
