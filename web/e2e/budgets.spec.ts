import type { Page } from "@playwright/test";
import {
  acceptAsNewcomer,
  agentMessages,
  anotherBrowser,
  cancelOpenTurns,
  createAgent,
  invite,
  newEmail,
  openNewSession,
  request,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

const CREATE =
  "mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } userErrors { message } } }";

/** Makes a budget of an agent through the API, for tests that are not about making budgets. */
async function createBudget(
  page: Page,
  agentId: string,
  more: Record<string, unknown>,
): Promise<string> {
  const { createBudget } = await request<{ createBudget: { budget: { id: string } } }>(
    page,
    CREATE,
    { input: { subject: "AGENT", subjectId: agentId, currency: "usd", limit: "10", ...more } },
  );
  return createBudget.budget.id;
}

const pauseNote = (page: Page) => page.getByRole("region", { name: "Paused", exact: true });
const budgetRow = (page: Page, name: string) =>
  page.locator("tr[data-budget]").filter({ hasText: name });

async function act(page: Page, name: string, what: string): Promise<void> {
  await budgetRow(page, name)
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await page.getByRole("menuitem", { name: what }).click();
}

test("a budget is created, found, changed, topped up and disabled", async ({ page }) => {
  await signIn(page);
  const name = `Spender ${Date.now().toString(36)}`;
  const agentId = await createAgent(page, "sim-default", { displayName: name });
  await page.getByRole("link", { name: "Budgets", exact: true }).click();
  await page.getByRole("button", { name: "New budget" }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(page).toHaveURL(/new=true/);
  await dialog.getByLabel("For").selectOption("AGENT");
  await dialog.getByLabel("Search by name or enter an ID").fill(agentId);
  await dialog.getByRole("radio", { name: new RegExp(`${name}|${agentId}`) }).check();
  await dialog.getByLabel("Currency").fill("tokens");
  await dialog.getByLabel("Limit", { exact: true }).fill("1.5");
  await dialog.getByRole("button", { name: "Create budget" }).click();
  // What the server refuses stands at its field, and nothing that was typed is lost.
  await expect(dialog.getByLabel("Limit", { exact: true })).toHaveAccessibleDescription(/whole/);
  await dialog.getByLabel("Limit", { exact: true }).fill("5000");
  await dialog.getByLabel("Soft limit").fill("4000");
  await dialog.getByLabel("Resets").selectOption("CALENDAR");
  await dialog.getByLabel("Every").selectOption("DAY");
  await dialog.getByLabel("Time zone").fill("Europe/Oslo");
  await dialog.getByRole("button", { name: "Create budget" }).click();
  await expect(dialog).toHaveCount(0);

  const row = budgetRow(page, name);
  await expect(row).toContainText("5,000");
  await expect(row).toContainText("soft 4,000");
  await expect(row).toContainText("Every day (Europe/Oslo)");
  await expect(row).toContainText("5,000 tokens left");
  await expect(row).toContainText("Active");
  await page.getByLabel("For", { exact: true }).selectOption("CUSTOMER");
  await expect(page).toHaveURL(/subject=CUSTOMER/);
  await expect(row).toHaveCount(0);
  await page.getByLabel("For", { exact: true }).selectOption("AGENT");
  await page.getByLabel("Status", { exact: true }).selectOption("ACTIVE");
  await page.reload();
  await expect(row).toBeVisible();

  await act(page, name, "Edit…");
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await dialog.getByLabel("Limit", { exact: true }).fill("6000");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("6,000 tokens left");

  await act(page, name, "Top up…");
  await dialog.getByLabel("Amount in tokens").fill("250");
  await expect(dialog).toContainText("6,250 tokens will be available");
  await dialog.getByLabel("Description").fill("For the fair");
  await dialog.getByRole("button", { name: "Top up" }).click();
  await expect(row).toContainText("6,250 tokens left");

  await row.getByRole("link", { name }).click();
  await expect(page.locator("[data-balance='6250']")).toBeVisible();
  const posting = page.locator("[data-posting]");
  await expect(posting).toHaveCount(1);
  await expect(posting).toContainText("For the fair");
  await expect(posting).toContainText("+250 tokens");
  await page.getByRole("button", { name: "Disable" }).click();
  await expect(dialog).toContainText("6,000 tokens");
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByText("Disabled", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Top up" })).toHaveCount(0);
});

test("past the soft limit a session pauses, and goes on with a top-up", { tag: "@smoke" }, async ({
  page,
}) => {
  await signIn(page);
  await cancelOpenTurns(page);
  const agentId = await createAgent(page, "sim-echo");
  const budgetId = await createBudget(page, agentId, { softLimit: "0.000000001" });
  await openNewSession(page, agentId, "On a budget");
  await send(page, "first");
  await expect(turnSummary(page)).toBeVisible();
  const panel = page.getByRole("complementary", { name: "Session details" });
  await expect(panel.locator('[data-budget-check="PAUSED"]')).toBeVisible();

  await send(page, "second");
  await expect(pauseNote(page)).toContainText("Paused by a budget.");
  const waiting = page.locator("[data-wait-count]").first();
  await expect(waiting).toContainText("1");
  await expect(page.getByRole("textbox", { name: "Message" })).toHaveAttribute(
    "placeholder",
    /Paused by a budget/,
  );
  await expect(agentMessages(page)).toHaveCount(1);
  // What is written meanwhile waits with the turn, also over a visit elsewhere.
  await page.goto("/sessions?status=PAUSED");
  await page.getByRole("link", { name: /On a budget/ }).click();
  await expect(pauseNote(page)).toBeVisible();

  await pauseNote(page).getByRole("button", { name: "Top up…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount in usd").fill("0.5");
  await dialog.getByRole("button", { name: "Top up" }).click();
  await expect(agentMessages(page).last()).toContainText("second");
  await expect(pauseNote(page)).toHaveCount(0);
  await expect(waiting).toBeHidden();

  // The ledger has all of it, to the last digit, with the way to each turn.
  await page.goto(`/budgets/${budgetId}`);
  await expect(page.locator('[data-source="MODEL_CALL"]')).toHaveCount(2);
  await expect(page.locator('[data-source="TOP_UP"]')).toContainText("+$0.50");
  await expect(page.getByRole("img", { name: /^Line chart/ })).toBeVisible();
  const { budget } = await request<{
    budget: { spent: string; ledger: { nodes: { amount: string }[] } };
  }>(page, "query ($id: ID!) { budget(id: $id) { spent ledger { nodes { amount } } } }", {
    id: budgetId,
  });
  const shown = await page
    .locator("[data-amount]")
    .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("data-amount")));
  expect(shown).toEqual(budget.ledger.nodes.map(({ amount }) => amount));
  await page
    .locator('[data-source="MODEL_CALL"]')
    .first()
    .getByRole("link", { name: "Turn" })
    .click();
  await expect(page.getByText("One turn only")).toBeVisible();
  await expect(page.getByRole("button", { name: /TURN_COMPLETED/ })).toHaveCount(1);
});

test("somebody who may lets a session go on past its soft limit; others learn whom to ask", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-echo");
  await createBudget(page, agentId, { softLimit: "0.000000001" });
  await openNewSession(page, agentId, "Needs a nod");
  await send(page, "first");
  await expect(turnSummary(page)).toBeVisible();
  await send(page, "second");
  await expect(pauseNote(page)).toBeVisible();

  const member = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(member, await invite(page, newEmail("mona"), "MEMBER"), "Mona");
  await member.goto(page.url());
  await expect(pauseNote(member)).toContainText(/Ask .*Administrator/);
  await expect(pauseNote(member).getByRole("button")).toHaveCount(0);
  await member.goto("/budgets");
  await expect(member.locator("tr[data-budget]").first()).toBeVisible();
  await expect(member.getByRole("button", { name: "New budget" })).toHaveCount(0);
  await expect(member.getByRole("button", { name: /^Actions for/ })).toHaveCount(0);
  await member.goto("/budgets?new=true");
  await expect(member.getByRole("heading", { name: "Budgets" })).toBeVisible();
  await expect(member.getByRole("dialog")).toHaveCount(0);
  await member.context().close();

  await pauseNote(page).getByRole("button", { name: "Resume" }).click();
  await expect(agentMessages(page).last()).toContainText("second");
  await expect(pauseNote(page)).toHaveCount(0);
});

test("two people on one budget see what the other one does, and keep both changes", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-echo");
  const budgetId = await createBudget(page, agentId, { currency: "tokens", limit: "5000" });
  const other = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(other, await invite(page, newEmail("ada"), "ADMIN"), "Ada");
  for (const each of [page, other]) {
    await each.goto(`/budgets/${budgetId}`);
    await expect(each.locator("[data-balance='5000']")).toBeVisible();
  }
  const soon = { timeout: 20_000 };

  await other.getByRole("button", { name: "Top up" }).click();
  await other.getByRole("dialog").getByLabel("Amount in tokens").fill("250");
  await other.getByRole("dialog").getByRole("button", { name: "Top up" }).click();
  await expect(page.locator("[data-balance='5250']")).toBeVisible(soon);
  await expect(page.locator('[data-source="TOP_UP"]')).toContainText("+250 tokens");

  // Both have the form open; each has changed something else.
  for (const each of [page, other]) await each.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Limit", { exact: true }).fill("6000");
  await other.getByRole("dialog").getByLabel("Soft limit").fill("4000");
  for (const each of [page, other]) {
    await each.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect(each.getByRole("dialog")).toHaveCount(0);
  }
  for (const each of [page, other]) {
    await expect(each.locator("[data-balance='6250']")).toBeVisible(soon);
    await expect(each.getByText(/4,000/).first()).toBeVisible(soon);
  }

  // A session that is parked by it is free in both browsers when one of them tops it up.
  const watched = await createAgent(page, "sim-echo");
  const pausing = await createBudget(page, watched, { softLimit: "0.000000001" });
  await openNewSession(page, watched, "Watched by two");
  await send(page, "first");
  await expect(turnSummary(page)).toBeVisible();
  await send(page, "second");
  await other.goto(page.url());
  for (const each of [page, other]) await expect(pauseNote(each)).toBeVisible(soon);
  await pauseNote(other).getByRole("button", { name: "Top up…" }).click();
  await other.getByRole("dialog").getByLabel("Amount in usd").fill("0.5");
  await other.getByRole("dialog").getByRole("button", { name: "Top up" }).click();
  for (const each of [page, other]) {
    await expect(agentMessages(each).last()).toContainText("second");
    await expect(pauseNote(each)).toHaveCount(0);
  }
  await page.goto(`/budgets/${pausing}`);
  await expect(page.locator('[data-source="TOP_UP"]')).toContainText("+$0.50");
  await other.context().close();
});

test("at the hard limit a turn is stopped, says why, and is continued after a top-up", async ({
  page,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-echo");
  await createBudget(page, agentId, { currency: "tokens", limit: "10" });
  await openNewSession(page, agentId, "Out of money");
  await send(page, "hello");
  const sealed = page.locator('[data-sealed="BUDGET"]');
  await expect(sealed).toContainText("too little is left of its budget");
  // The agent says it, and it is not said twice.
  await expect(page.getByRole("log").getByText("budget_exhausted")).toHaveCount(1);
  await expect(sealed.getByRole("button", { name: "Continue" })).toHaveCount(0);

  await sealed.getByRole("button", { name: "Top up…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount in tokens").fill("1000000");
  await dialog.getByRole("button", { name: "Top up" }).click();
  await expect(sealed).toContainText("The budget has room again.");
  await sealed.getByRole("button", { name: "Continue" }).click();
  await expect(agentMessages(page).last()).toContainText("Continue.");

  await page.goto("/");
  await expect(page.locator('[data-figure="turns"]')).toContainText(/[1-9]/);
});

test("usage adds up to what the server says", async ({ page }) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default", {
    displayName: `Counted ${Date.now().toString(36)}`,
  });
  await openNewSession(page, agentId, "Counted");
  await send(page, "Write hello world to file notes.txt and then read it back");
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Usage", exact: true }).click();
  await page.getByRole("button", { name: "Today" }).click();
  await expect(page).toHaveURL(/range=today/);

  const day = new Date().toISOString().slice(0, 10);
  const from = `${day}T00:00:00Z`;
  const to = new Date(Date.parse(from) + 86_400_000).toISOString();
  const ask = async (groupBy: string) => {
    const { usage } = await request<{
      usage: {
        edges: {
          node: { usage: { costUsd: string }; agent: { id: string } | null; tool: string };
        }[];
      };
    }>(
      page,
      "query ($groupBy: [UsageGroup!]!, $from: Time!, $to: Time!) { usage(groupBy: $groupBy, from: $from, to: $to) { edges { node { tool agent { id } usage { costUsd } } } } }",
      { groupBy: [groupBy], from, to },
    );
    return usage.edges.map(({ node }) => node);
  };
  const [whole] = await ask("DAY");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.locator(`[data-total="${whole?.usage.costUsd}"]`)).toBeVisible();
  await expect(page.getByRole("img", { name: /^Bar chart/ })).toBeVisible();
  await page.getByText("As a table").click();
  await expect(page.locator(`[data-day="${day}"]`)).toContainText("$");

  const by = page.getByRole("group", { name: "By", exact: true });
  await by.getByRole("button", { name: "Agent" }).click();
  await expect(page).toHaveURL(/by=AGENT/);
  const own = (await ask("AGENT")).find(({ agent }) => agent?.id === agentId);
  await expect(
    page.locator(`[data-line="${agentId}"] [data-cost="${own?.usage.costUsd}"]`),
  ).toBeVisible();
  await by.getByRole("button", { name: "Tool" }).click();
  await expect(page.locator('[data-line="write_file"]')).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
});
