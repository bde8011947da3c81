import { expect, it } from "vitest";
import { paymentsSearch } from "./search";
import { choose, PAYMENT_STATUSES, type Payment, paidOtherwise } from "./words";

const payment = (id: string, policyId: string, status: Payment["status"]): Payment => ({
  id,
  policyId,
  status,
  sessionId: "sess_1",
  turnId: "turn_1",
  tool: "shopping.order",
  host: "books.example.com",
  purpose: "A book",
  currency: "usd",
  amount: "12.5",
  paid: null,
  reference: null,
  error: null,
  attempts: 0,
  createdAt: "2026-01-01T00:00:00Z",
  settledAt: null,
});

it("chooses by status and by policy", () => {
  const all = [
    payment("a", "p1", "PAID"),
    payment("b", "p1", "PENDING"),
    payment("c", "p2", "PENDING"),
  ];
  const ids = (wanted: Parameters<typeof choose>[1]) => choose(all, wanted).map(({ id }) => id);
  expect(ids({})).toEqual(["a", "b", "c"]);
  expect(ids({ status: "PENDING" })).toEqual(["b", "c"]);
  expect(ids({ policy: "p1" })).toEqual(["a", "b"]);
  expect(ids({ status: "PENDING", policy: "p1" })).toEqual(["b"]);
});

it("tells when another amount was paid than was asked for", () => {
  expect(paidOtherwise({ amount: "12.5", paid: null })).toBeNull();
  expect(paidOtherwise({ amount: "12.5", paid: "12.50" })).toBeNull();
  expect(paidOtherwise({ amount: "12.5", paid: "13" })).toBe("13");
});

it("reads the address, and nothing that makes no sense", () => {
  expect(paymentsSearch({ view: "policies", status: "PAID", policy: "ppol_1" })).toEqual({
    view: "policies",
    status: "PAID",
    policy: "ppol_1",
  });
  expect(paymentsSearch({ view: "all", status: "LOST", policy: "" })).toEqual({});
  for (const status of PAYMENT_STATUSES) expect(paymentsSearch({ status })).toEqual({ status });
});
