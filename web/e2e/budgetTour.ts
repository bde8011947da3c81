import { expect, type Page } from "@playwright/test";
import { createAgent, openNewSession, request, send, signIn, turnSummary } from "./steps";

const CREATE =
  "mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } userErrors { message } } }";

/** Opens each page and each dialog of budgets and usage, one after the other. */
export async function tourOfBudgets(
  page: Page,
  look: (name: string) => Promise<void>,
): Promise<void> {
  await signIn(page);
  await page.goto("/budgets?subject=CUSTOMER&subjectId=nobody");
  await expect(page.getByText("No budgets match")).toBeVisible();
  await look("budgets-empty");
  await page.goto("/budgets?new=true");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Create budget" })).toBeVisible();
  await look("new-budget");
  await dialog.getByLabel("For").selectOption("SESSION");
  await look("new-budget-session");

  const helper = await createAgent(page, "sim-default", { displayName: "Thrifty helper" });
  const make = async (input: Record<string, unknown>) => {
    const { createBudget } = await request<{ createBudget: { budget: { id: string } } }>(
      page,
      CREATE,
      { input: { subject: "AGENT", subjectId: helper, ...input } },
    );
    return createBudget.budget.id;
  };
  const period = { kind: "CALENDAR", unit: "MONTH", timezone: "Europe/Oslo" };
  const tokens = await make({ currency: "tokens", limit: "200000", period });
  await make({ currency: "usd", limit: "5", softLimit: "0.000000001" });
  await make({ subject: "CUSTOMER", subjectId: "acme", currency: "pages", limit: "12.5" });
  await openNewSession(page, helper, "Thrifty");
  await send(page, "Write hello world to file notes.txt and then read it back");
  await expect(page.getByText("Paused by a budget.")).toBeVisible({ timeout: 20_000 });
  await look("session-paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });

  await page.goto("/budgets");
  const row = page.locator(`tr[data-budget="${tokens}"]`);
  await expect(row).toBeVisible();
  await look("budgets");
  for (const [what, name] of [
    ["Top up…", "budget-top-up"],
    ["Edit…", "budget-edit"],
    ["Disable…", "budget-disable"],
  ] as const) {
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: what }).click();
    await expect(dialog).toBeVisible();
    await look(name);
    await page.keyboard.press("Escape");
  }
  await row.getByRole("link").first().click();
  await expect(page.getByRole("img", { name: /^Line chart/ })).toBeVisible();
  await look("budget");

  const poor = await createAgent(page, "sim-echo");
  await make({ subjectId: poor, currency: "tokens", limit: "10" });
  await openNewSession(page, poor, "Out of money");
  await send(page, "hello");
  await expect(page.locator('[data-sealed="BUDGET"]')).toBeVisible();
  await expect(page.getByRole("button", { name: "Top up…" })).toBeVisible();
  await look("session-exhausted");

  await page.goto("/usage?range=7d");
  await expect(page.getByRole("img", { name: /^Bar chart/ })).toBeVisible();
  await look("usage");
  await page.getByText("As a table").click();
  await page.getByRole("button", { name: "Tool", exact: true }).click();
  await expect(page.locator('[data-line="write_file"]')).toBeVisible();
  await look("usage-by-tool");
  await page.goto("/usage?range=custom&from=2020-01-01&to=2020-01-31");
  await expect(page.getByText("No usage in this period")).toBeVisible();
  await look("usage-empty");
}
