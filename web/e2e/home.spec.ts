import {
  agentMessages,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  scriptedError,
  send,
  signIn,
} from "./steps";
import { expect, test } from "./test";

test.describe("the home page", () => {
  test.use({ serverGoesAway: true });

  test("follows turns, failures and new sessions live, and goes on after an outage", async ({
    page,
    context,
    ostler,
  }) => {
    await signIn(page);
    const other = await context.newPage();
    await openNewSession(other, await createAgent(page, SLOW_ECHO), "Long work");
    await expect(page.getByRole("region", { name: "Recent sessions" })).toContainText("Long work");

    await send(other, longText(150, "finished"));
    const working = page.getByRole("region", { name: /^Active now/ });
    await expect(working).toContainText("Long work");
    await expect(agentMessages(other).last()).toContainText("finished", { timeout: 20_000 });
    await expect(working).toContainText("No active turns.");

    await ostler.stop();
    await expect(page.getByText(/Reconnecting – data as of/)).toBeVisible();
    await ostler.run();
    await expect(page.getByText(/Reconnecting/)).toBeHidden({ timeout: 20_000 });

    await openNewSession(other, await createAgent(page, "sim-script"), "Broken");
    await send(other, scriptedError({ status: 401 }));
    const failures = page.getByRole("region", { name: /^Failed or stopped/ });
    await expect(failures).toContainText("provider_misconfigured", { timeout: 20_000 });
    await failures.getByRole("link", { name: /Broken/ }).click();
    await expect(page.getByRole("link", { name: "Provider settings" }).first()).toBeVisible();
  });
});

test("the list of sessions follows live", async ({ page, context }) => {
  await signIn(page);
  await page.goto("/sessions");
  const other = await context.newPage();
  await openNewSession(other, await createAgent(page, SLOW_ECHO), "Seen from afar");
  const row = page.getByRole("link", { name: /Seen from afar/ });
  await expect(row).toContainText("New");
  await send(other, longText(100, "finished"));
  await expect(row).toContainText("Working");
  await expect(row).toContainText("Idle", { timeout: 20_000 });
});
