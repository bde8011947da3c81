import type { Page } from "@playwright/test";
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
  scriptedError,
  send,
  signIn,
  turnSummary,
  WRITE_NOTES,
  waitCard,
} from "./steps";
import { expect, test } from "./test";

const CLIENT_TOOL = {
  name: "get_weather",
  description: "Tells the weather.",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
};

const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test.setTimeout(240_000);

    test.afterEach(({ page }) => cancelOpenTurns(page));

    test("every page is kept as a picture", async ({ page }) => {
      await page.goto("/sign-in");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      await capture(page, "sign-in", colorScheme);
      await signIn(page);
      const agentId = await createAgent(page, "sim-default");
      await changeAgent(page, agentId);
      const { harnessId, providerId } = await catalogIds(page);
      await openNewSession(page, agentId, "A tour of the tools");
      const session = page.url();
      await send(page, "Write hello world to file notes.txt and then read it back");
      await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
      await capture(page, "session-chat", colorScheme);

      const pages: [name: string, path: string, sign: string | RegExp][] = [
        ["session-timeline", `${session}?view=timeline`, "Model call"],
        ["session-events", `${session}?view=events`, /\d+ events/],
        ["session-config", `${session}?view=config`, "Model calls per turn"],
        ["home", "/", "Failed or stopped"],
        ["sessions", "/sessions", "A tour of the tools"],
        ["new-session", "/sessions?new=", "Start session"],
        ["agents", "/agents", "Helper"],
        ["agent", `/agents/${agentId}`, "Effective config"],
        ["new-agent", "/agents/new", "Effective config"],
        ["agent-history", `/agents/${agentId}/history`, "Revision 2"],
        ["harnesses", "/harnesses", "Generic"],
        ["harness", `/harnesses/${harnessId}`, "Effective config"],
        ["harness-history", `/harnesses/${harnessId}/history`, "Revision"],
        ["new-harness", "/harnesses/new", "Effective config"],
        ["models", "/models", "Simulated"],
        ["provider", `/models/${providerId}`, "Settings"],
        ["not-found", "/nowhere", "Page not found"],
      ];
      for (const [name, path, sign] of pages) {
        await page.goto(path);
        await expect(page.getByText(sign).first()).toBeVisible();
        await capture(page, name, colorScheme);
      }

      await openNewSession(page, await createAgent(page, "sim-script"), "A key that is refused");
      await send(page, scriptedError({ status: 401 }));
      await expect(page.getByText("provider_misconfigured").first()).toBeVisible();
      await capture(page, "session-failure", colorScheme);

      await page.goto("/models");
      await page.getByRole("button", { name: "Add provider" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await capture(page, "new-provider", colorScheme);
      await page.goto(`/models/${providerId}`);
      await page.getByRole("button", { name: "Prices of" }).first().click();
      await expect(page.locator("[data-price-from]")).toBeVisible();
      await capture(page, "model-prices", colorScheme);

      const patient = await createAgent(page, "sim-default", approvals({ quorum: 2 }));
      await openNewSession(page, patient, "Waits for people");
      await send(page, WRITE_NOTES);
      await expect(waitCard(page, "APPROVAL")).toBeVisible();
      await capture(page, "session-approval", colorScheme);
      await page.goto(`${page.url()}?view=timeline`);
      await expect(page.locator('[data-span="wait"]')).toBeVisible();
      await capture(page, "session-timeline-waiting", colorScheme);
      const asking = await createAgent(page, "sim-script", {
        capabilities: [{ id: "ask_user" }],
        clientTools: [CLIENT_TOOL],
      });
      const question = { question: "Which colour?", options: ["Red", "Green"] };
      await openNewSession(page, asking, "Asks a person");
      await send(page, scriptedCall("ask_user", question, "Thank you."));
      await expect(waitCard(page, "QUESTION")).toBeVisible();
      await capture(page, "session-question", colorScheme);
      await openNewSession(page, asking, "Waits for a program");
      await send(page, scriptedCall("get_weather", { city: "Oslo" }, "Thank you."));
      await waitCard(page, "CLIENT_TOOL").getByText("Submit a result by hand").click();
      await capture(page, "session-client-tool", colorScheme);
      await page.goto("/approvals");
      await expect(page.getByText("Asks a person").first()).toBeVisible();
      await capture(page, "approvals", colorScheme);
      await page.goto("/");
      await expect(page.getByRole("region", { name: /^Waiting for you/ })).toBeVisible();
      await capture(page, "home-waiting", colorScheme);
      await page.goto(`/agents/${asking}`);
      await page.getByRole("list").getByText("Tells the weather.").first().click();
      await page.getByLabel("Timeout in seconds").scrollIntoViewIfNeeded();
      await capture(page, "agent-client-tools", colorScheme);

      await openNewSession(page, await createAgent(page, SLOW_ECHO), "Busy");
      await send(page, longText(3000, "finished"));
      await expect(agentMessages(page).last()).toContainText("word2");
      await deliver(page, "Queue");
      for (const each of ["Then count the words", "And the letters"]) await send(page, each);
      await expect(page.getByRole("button", { name: "Edit: And the letters" })).toBeVisible();
      await capture(page, "session-queue", colorScheme);
      await page.goto("/sessions");
      await page.getByLabel("Select Busy").first().check();
      await capture(page, "sessions-selected", colorScheme);

      const short = await createAgent(page, "sim-default", { maxIterations: 1 });
      await openNewSession(page, short, "Too short");
      await send(page, WRITE_NOTES);
      await expect(page.getByRole("button", { name: "Continue" })).toBeVisible();
      await capture(page, "session-sealed", colorScheme);
    });

    test("every page of budgets is kept as a picture", async ({ page }) => {
      await tourOfBudgets(page, (name) => capture(page, name, colorScheme));
    });

    test("every page of payments is kept as a picture", async ({ page }) => {
      await tourOfPayments(page, (name) => capture(page, name, colorScheme));
    });

    test("every page of the organization is kept as a picture", async ({
      page,
      browser,
      baseURL,
      complaints,
    }) => {
      await tourOfOrg(page, (name) => capture(page, name, colorScheme));
      await tourAsViewer(page, browser, baseURL, complaints, (name, viewer) =>
        capture(viewer, name, colorScheme),
      );
    });
  });
}

async function capture(page: Page, name: string, colorScheme: "light" | "dark"): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await page.waitForTimeout(400);
    await page.screenshot({
      path: `e2e/screenshots/${name}-${size.width}-${colorScheme}.png`,
    });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow, `${name} is wider than ${size.width} px`).toBe(0);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
