import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import {
  catalogIds,
  changeAgent,
  createAgent,
  openNewSession,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in the ${colorScheme} theme`, () => {
    test.use({ colorScheme });

    test("axe finds nothing serious on any page", async ({ page }) => {
      await page.goto("/sign-in");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      await check("sign-in");
      await signIn(page);
      const agentId = await createAgent(page, "sim-default");
      await changeAgent(page, agentId);
      const { harnessId, providerId } = await catalogIds(page);
      await openNewSession(page, agentId, "A tour of the tools");
      const session = page.url();
      await check("session, empty");
      await send(page, "Write hello world to file notes.txt and then read it back");
      await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
      await check("session, chat");

      const pages: [path: string, sign: string | RegExp][] = [
        [`${session}?view=events`, /\d+ events/],
        [`${session}?view=config`, "Max iterations"],
        ["/", "Failures to look at"],
        ["/sessions", "A tour of the tools"],
        ["/sessions?new=", "Start session"],
        ["/agents", "Helper"],
        [`/agents/${agentId}`, "Effective config"],
        [`/agents/${agentId}/history`, "Revision 2"],
        ["/harnesses", "Generic"],
        [`/harnesses/${harnessId}`, "Effective config"],
        [`/harnesses/${harnessId}/history`, "Revision"],
        ["/harnesses/new", "Effective config"],
        ["/models", "Simulated"],
        [`/models/${providerId}`, "Settings"],
        ["/nowhere", "There is nothing at this address"],
      ];
      for (const [path, sign] of pages) {
        await page.goto(path);
        await expect(page.getByText(sign).first()).toBeVisible();
        await check(path);
      }
      await page.goto("/agents");
      await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("option", { name: "New session" })).toBeVisible();
      await check("palette");

      await page.goto("/models");
      await page.getByRole("button", { name: "Add provider" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await check("new provider");

      async function check(name: string): Promise<void> {
        // Colours that are still moving would be measured half way.
        await page.waitForTimeout(300);
        // Evaluated by the debugger, which the content security policy does not bind.
        await page.evaluate(axe);
        const { violations } = await page.evaluate<AxeResults>(
          "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
        );
        const serious = violations
          .filter(({ impact }) => impact === "serious" || impact === "critical")
          .map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
          );
        expect(serious, name).toEqual([]);
      }
    });
  });
}
