import {
  catalogIds,
  changeAgent,
  createAgent,
  openNewSession,
  scriptedError,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test("every page is kept as a picture", async ({ page }) => {
      await page.goto("/sign-in");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      await capture("sign-in");
      await signIn(page);
      const agentId = await createAgent(page, "sim-default");
      await changeAgent(page, agentId);
      const { harnessId, providerId } = await catalogIds(page);
      await openNewSession(page, agentId, "A tour of the tools");
      const session = page.url();
      await send(page, "Write hello world to file notes.txt and then read it back");
      await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
      await capture("session-chat");

      const pages: [name: string, path: string, sign: string | RegExp][] = [
        ["session-events", `${session}?view=events`, /\d+ events/],
        ["session-config", `${session}?view=config`, "Max iterations"],
        ["home", "/", "Failures to look at"],
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
        ["not-found", "/nowhere", "There is nothing at this address"],
      ];
      for (const [name, path, sign] of pages) {
        await page.goto(path);
        await expect(page.getByText(sign).first()).toBeVisible();
        await capture(name);
      }

      await openNewSession(page, await createAgent(page, "sim-script"), "A key that is refused");
      await send(page, scriptedError({ status: 401 }));
      await expect(page.getByText("provider_misconfigured").first()).toBeVisible();
      await capture("session-failure");

      await page.goto("/models");
      await page.getByRole("button", { name: "Add provider" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await capture("new-provider");

      async function capture(name: string): Promise<void> {
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
    });
  });
}
