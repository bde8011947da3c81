// @vitest-environment happy-dom

import { afterEach, describe, expect, it, vi } from "vitest";
import { OrgEventsDocument } from "@/gql/graphql";
import { subscribeOverSocket } from "./socket";

/** A server that is away: connections fail after a moment. */
class Unreachable extends EventTarget {
  static fail: () => void = () => {};
  onerror: ((event: Event) => void) | null = null;
  onclose: ((event: Event) => void) | null = null;
  constructor() {
    super();
    Unreachable.fail = () => {
      this.onerror?.(new Event("error"));
      this.onclose?.(Object.assign(new Event("close"), { code: 1006, reason: "" }));
    };
  }
  close() {}
}

afterEach(() => vi.unstubAllGlobals());

describe("a subscription that is given up while it connects", () => {
  it("ends, and what becomes of the connection troubles nobody", async () => {
    vi.stubGlobal("WebSocket", Unreachable);
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const controller = new AbortController();
    const ended = subscribeOverSocket(OrgEventsDocument, {}, () => {}, controller.signal);
    await Promise.resolve();
    controller.abort();
    expect(await ended).toEqual({ type: "aborted" });
    Unreachable.fail();
    await new Promise((resolve) => setTimeout(resolve));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
