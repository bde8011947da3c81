import { expect, type Page } from "@playwright/test";
import { createAgent, openNewSession, request, send, signIn, turnSummary } from "./steps";

export const SECRET = "0123456789abcdef0123456789abcdef";

/** Makes a payment policy through the API, for tests that are not about making policies. */
export async function createPolicy(page: Page, more: Record<string, unknown>): Promise<string> {
  const { createPaymentPolicy } = await request<{
    createPaymentPolicy: { policy: { id: string } };
  }>(
    page,
    "mutation ($input: CreatePaymentPolicyInput!) { createPaymentPolicy(input: $input) { policy { id } userErrors { message } } }",
    {
      input: {
        capabilities: ["ask_user"],
        hosts: ["books.example.com", "*.shop.example.com"],
        url: "http://127.0.0.1:9/pay",
        secret: SECRET,
        maxPerRequest: "20",
        maxPerTurn: "50",
        maxPerDay: "500",
        ...more,
      },
    },
  );
  return createPaymentPolicy.policy.id;
}

/**
 * Shows payments in the list. No tool that comes with the server pays, so the answer to this one query is written here;
 * all else is the server's.
 */
export async function plantPayments(
  page: Page,
  payments: readonly Record<string, unknown>[],
): Promise<void> {
  const nodes = payments.map((each, at) => ({
    __typename: "Payment",
    id: `pay_0000000000007000800000000000000${at}`,
    tool: "shopping.order",
    host: "books.example.com",
    currency: "usd",
    paid: null,
    reference: null,
    error: null,
    attempts: 1,
    createdAt: "2026-01-15T08:00:00.123Z",
    settledAt: null,
    ...each,
  }));
  await page.route("**/graphql", async (route) => {
    if (route.request().postDataJSON()?.operationName !== "Payments") return route.fallback();
    const pageInfo = { __typename: "PageInfo", hasNextPage: false, endCursor: null };
    await route.fulfill({
      json: { data: { payments: { __typename: "PaymentConnection", nodes, pageInfo } } },
    });
  });
}

/** One payment of each kind, of a turn. */
export function onePaymentEach(of: Record<string, unknown>): Record<string, unknown>[] {
  return [
    {
      ...of,
      purpose: "The fourth volume, as the user asked",
      amount: "12.5",
      status: "PENDING",
      attempts: 3,
      error: "The rail has answered with the status 503.",
    },
    {
      ...of,
      purpose: "The third volume",
      amount: "9.99",
      paid: "10.25",
      status: "PAID",
      reference: "order-2211",
      settledAt: "2026-01-15T08:00:02.000Z",
    },
    {
      ...of,
      purpose: "The second volume",
      amount: "19",
      status: "REFUSED",
      error: "The shop has closed.",
      settledAt: "2026-01-15T08:00:02.000Z",
    },
  ];
}

/** A turn that has ended, in the address of its session. */
export async function anyTurn(page: Page): Promise<{ sessionId: string; turnId: string }> {
  await openNewSession(page, await createAgent(page, "sim-default"), "Went shopping");
  await send(page, "Hello");
  await expect(turnSummary(page)).toBeVisible();
  const sessionId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const { session } = await request<{ session: { turns: { nodes: { id: string }[] } } }>(
    page,
    "query ($id: ID!) { session(id: $id) { turns(first: 1) { nodes { id } } } }",
    { id: sessionId },
  );
  return { sessionId, turnId: session.turns.nodes[0]?.id ?? "" };
}

/** Opens the page of payments and each of its dialogs, one after the other. */
export async function tourOfPayments(
  page: Page,
  look: (name: string) => Promise<void>,
): Promise<void> {
  await signIn(page);
  await page.goto("/payments?status=PAID");
  await expect(page.getByText("No payments match")).toBeVisible();
  await look("payments-empty");
  const policyId = await createPolicy(page, { name: "Books", approvalAbove: "10" });
  await plantPayments(page, onePaymentEach({ ...(await anyTurn(page)), policyId }));
  await page.goto("/payments");
  await expect(page.locator("[data-payment]")).toHaveCount(3);
  await look("payments");
  await page.getByRole("button", { name: /^Settle the payment/ }).click();
  await page.getByRole("radio", { name: /^Paid/ }).check();
  await look("payment-settle");
  await page.goto("/payments?view=policies");
  const row = page.locator(`tr[data-policy="${policyId}"]`);
  await expect(row).toBeVisible();
  await look("payment-policies");
  await page.getByRole("button", { name: "New policy" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("checkbox").first()).toBeVisible();
  await look("new-payment-policy");
  await page.keyboard.press("Escape");
  for (const [what, name] of [
    ["Edit…", "payment-policy-edit"],
    ["Disable…", "payment-policy-disable"],
    ["Delete…", "payment-policy-delete"],
  ] as const) {
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: what }).click();
    await expect(dialog).toBeVisible();
    await look(name);
    await page.keyboard.press("Escape");
  }
}
