import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import type { AxeResults } from "axe-core";
import { tourOfBudgets } from "./budgetTour";
import { tourAsViewer, tourOfOrg } from "./orgTour";
import { tourOfPayments } from "./paymentTour";
import {
  agentMessages,
  approvals,
  cancelOpenTurns,
  catalogIds,
  changeAgent,
  createAgent,
  deliver,
  longText,
  openNewSession,
  SLOW_ECHO,
  scriptedCall,
  send,
  signIn,
  turnSummary,
  WRITE_NOTES,
  waitCard,
} from "./steps";
import { expect, test } from "./test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const CLIENT_TOOL = {
  name: "get_weather",
  description: "Tells the weather.",
  inputSchema: { type: "object" },
};

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test.setTimeout(240_000);

    test.afterEach(({ page }) => cancelOpenTurns(page));

    test("axe finds nothing serious on any page", async ({ page }) => {
      await page.goto("/sign-in");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      await check(page, "sign-in");
      await page.goto("/forgot");
      await expect(page.getByRole("button", { name: "Send link" })).toBeVisible();
      await check(page, "forgotten password");
      await page.goto("/reset?token=x");
      await expect(page.getByRole("button", { name: "Set the password" })).toBeVisible();
      await check(page, "new password");
      await signIn(page);
      const agentId = await createAgent(page, "sim-default");
      await changeAgent(page, agentId);
      const { harnessId, providerId } = await catalogIds(page);
      await openNewSession(page, agentId, "A tour of the tools");
      const session = page.url();
      await check(page, "session, empty");
      await send(page, "Write hello world to file notes.txt and then read it back");
      await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
      await check(page, "session, chat");

      const pages: [path: string, sign: string | RegExp][] = [
        [`${session}?view=timeline`, "Model call"],
        [`${session}?view=events`, /\d+ events/],
        [`${session}?view=config`, "Model calls per turn"],
        ["/", "Failed or stopped"],
        ["/sessions", "A tour of the tools"],
        ["/sessions?new=", "Start session"],
        ["/failures", "No failures in this period"],
        ["/agents", "Helper"],
        [`/agents/${agentId}`, "Effective config"],
        [`/agents/${agentId}/history`, "Revision 2"],
        ["/harnesses", "Generic"],
        [`/harnesses/${harnessId}`, "Effective config"],
        [`/harnesses/${harnessId}/history`, "Revision"],
        ["/harnesses/new", "Effective config"],
        ["/models", "Simulated"],
        [`/models/${providerId}`, "Settings"],
        ["/api", "1. Get a key"],
        ["/docs/api", "Signing in"],
        ["/nowhere", "Page not found"],
      ];
      for (const [path, sign] of pages) {
        await page.goto(path);
        await expect(page.getByText(sign).filter({ visible: true }).first()).toBeVisible();
        await check(page, path);
      }
      await page.goto(`/agents/${agentId}`);
      await page.getByRole("button", { name: "Try it" }).click();
      await page.getByRole("textbox", { name: "Message to try" }).fill("Echo good morning");
      await page.keyboard.press("Enter");
      await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
      await check(page, "agent, tried");

      await page.goto("/agents");
      await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("option", { name: "New session" })).toBeVisible();
      await check(page, "palette");

      await page.goto(`/models/${providerId}`);
      await page.getByRole("button", { name: "Prices of" }).first().click();
      await expect(page.locator("[data-price-from]")).toBeVisible();
      await check(page, "model, prices");
      await page.goto("/models");
      await page.getByRole("button", { name: "Add provider" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await check(page, "new provider");

      const patient = await createAgent(page, "sim-default", approvals());
      await openNewSession(page, patient, "Waits for a person");
      await send(page, WRITE_NOTES);
      await waitCard(page, "APPROVAL").getByRole("button", { name: "Edit arguments" }).click();
      await check(page, "session, approval");
      await page.goto(`${page.url()}?view=timeline`);
      await expect(page.locator('[data-span="wait"]')).toBeVisible();
      await check(page, "timeline, waiting");
      const asking = await createAgent(page, "sim-script", {
        capabilities: [{ id: "ask_user" }],
        clientTools: [CLIENT_TOOL],
      });
      const question = { question: "Which colour?", options: ["Red", "Green"] };
      await openNewSession(page, asking, "Asks a person");
      await send(page, scriptedCall("ask_user", question, "Thank you."));
      await expect(waitCard(page, "QUESTION")).toBeVisible();
      await check(page, "session, question");
      await openNewSession(page, asking, "Waits for a program");
      await send(page, scriptedCall("get_weather", {}, "Thank you."));
      await waitCard(page, "CLIENT_TOOL").getByText("Submit a result by hand").click();
      await check(page, "session, client tool");
      for (const path of ["/approvals", "/approvals?kind=QUESTION", "/"]) {
        await page.goto(path);
        await expect(page.getByText("Asks a person").first()).toBeVisible();
        await check(page, `${path}, waiting`);
      }
      await page.goto(`/agents/${asking}`);
      await page.getByRole("list").getByText("Tells the weather.").first().click();
      await expect(page.getByLabel("Timeout in seconds")).toBeVisible();
      await check(page, "agent with client tools");

      await openNewSession(page, await createAgent(page, SLOW_ECHO), "Busy");
      await send(page, longText(3000, "finished"));
      await expect(agentMessages(page).last()).toContainText("word2");
      await deliver(page, "Queue");
      await send(page, "later");
      await send(page, "last");
      await page.getByRole("button", { name: "Edit: last" }).click();
      await check(page, "session, queue");
      await page.getByRole("button", { name: "Remove: later" }).click();
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await expect(page.getByText("Stopped by you")).toBeVisible();
      await check(page, "session, stopped");
      await page.goto("/sessions");
      await page.getByLabel("Select Busy").first().check();
      await check(page, "sessions, selected");

      const short = await createAgent(page, "sim-default", { maxIterations: 1 });
      await openNewSession(page, short, "Too short");
      await send(page, WRITE_NOTES);
      await expect(page.getByRole("button", { name: "Continue" })).toBeVisible();
      await check(page, "session, sealed");
    });

    test("axe finds nothing serious about budgets", async ({ page }) => {
      await tourOfBudgets(page, (name) => check(page, name));
    });

    test("axe finds nothing serious about payments", async ({ page }) => {
      await tourOfPayments(page, (name) => check(page, name));
    });

    test("axe finds nothing serious in the organization", async ({
      page,
      browser,
      baseURL,
      complaints,
    }) => {
      await tourOfOrg(page, (name) => check(page, name));
      await tourAsViewer(page, browser, baseURL, complaints, (name, viewer) => check(viewer, name));
    });
  });
}

async function check(page: Page, name: string): Promise<void> {
  // Colours that are still moving would be measured half way.
  await page.waitForTimeout(300);
  // Evaluated by the debugger, which the content security policy does not bind.
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  );
  const serious = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  expect(serious, name).toEqual([]);
}
