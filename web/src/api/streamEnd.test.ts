import { describe, expect, it } from "vitest";
import { streamEnd } from "./follow";
import type { SocketEnd } from "./socket";

const errors = (code: string, retryAfterSeconds: number | null = null): SocketEnd => ({
  type: "errors",
  code,
  message: "No.",
  retryAfterSeconds,
});

describe("streamEnd", () => {
  it.each([
    [{ type: "closed", code: 4403 } as const, { kind: "refused" }],
    [{ type: "closed", code: 1012 } as const, { kind: "dropped" }],
    [{ type: "closed", code: 1006 } as const, { kind: "dropped" }],
    [{ type: "complete" } as const, { kind: "dropped" }],
    [{ type: "aborted" } as const, { kind: "aborted" }],
    [errors("SUBSCRIPTION_LAGGED"), { kind: "lagged" }],
    [errors("UNAUTHENTICATED"), { kind: "refused" }],
    [errors("NOT_FOUND"), { kind: "fatal", message: "No." }],
    [errors("INTERNAL"), { kind: "dropped" }],
    [errors("RATE_LIMITED", 3), { kind: "dropped", retryAfterMs: 3000 }],
  ])("reads %j", (end, expected) => {
    expect(streamEnd(end)).toEqual(expected);
  });
});
