import {
  agentMessages,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  send,
  signIn,
  turnSummary,
  userMessages,
} from "./steps";
import { expect, test } from "./test";

test.use({ serverGoesAway: true });

test("a server that is killed in the middle of an answer finishes it after its restart", async ({
  page,
  ostler,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Survivor");
  const text = longText(150, "finished");
  await send(page, text);
  await expect(agentMessages(page).last()).toContainText("word20");

  await ostler.kill();
  await expect(page.getByText(/Reconnecting – data as of/)).toBeVisible();
  await expect(agentMessages(page).last()).toContainText("word20");

  await ostler.run();
  await expect(page.getByText(/Reconnecting/)).toBeHidden({ timeout: 20_000 });
  await expect(turnSummary(page)).toBeVisible({ timeout: 30_000 });
  await expect(agentMessages(page)).toHaveCount(1);
  await expect(agentMessages(page).last()).toContainText(text);
});

test("a message that is sent while the server is away goes out when it is back, once", async ({
  page,
  ostler,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Patience");
  await expect(page.getByText("Start the conversation")).toBeVisible();
  await ostler.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await send(page, "are you there");
  await expect(page.getByText(/Not sent yet/)).toBeVisible();

  await ostler.run();
  await expect(agentMessages(page).last()).toContainText("are you there", { timeout: 20_000 });
  await expect(userMessages(page)).toHaveCount(1);
});

test("a stream whose access token is gone renews it and goes on", async ({
  page,
  context,
  ostler,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Renewal");
  await expect(page.getByText("Start the conversation")).toBeVisible();
  await ostler.stop();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await context.clearCookies({ name: "ostler_access" });
  await ostler.run();
  await expect(page.getByText(/Reconnecting/)).toBeHidden({ timeout: 20_000 });
  await send(page, "still here");
  await expect(agentMessages(page).last()).toContainText("still here");
});

test("a session that was opened while the server was away comes by itself, and sends what waits", async ({
  page,
  ostler,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Healed");
  const { pathname } = new URL(page.url());
  await expect(page.getByText("Start the conversation")).toBeVisible();
  await ostler.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await send(page, "held back");
  await expect(page.getByText(/Not sent yet/)).toBeVisible();
  await page.getByRole("link", { name: "Home" }).click();
  await page.goBack();
  await expect(page).toHaveURL(new RegExp(`${pathname}$`));

  await ostler.run();
  await expect(agentMessages(page).last()).toContainText("held back", { timeout: 30_000 });
  await expect(userMessages(page)).toHaveCount(1);
});

test("code that was asked for while the server was away comes when it is back", async ({
  page,
  ostler,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Later");
  await page.evaluate(() => {
    document.documentElement.dataset.same = "page";
  });
  await ostler.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  const asked = page.waitForEvent("requestfailed", (each) => each.url().includes("/assets/"));
  await page.locator("body").click({ position: { x: 1, y: 1 } });
  await page.keyboard.press("?");
  await asked;
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(sheet).toHaveCount(0);
  await ostler.run();
  await expect(sheet).toBeVisible({ timeout: 20_000 });
  // This browser asks again for what has failed, so that nothing of the page is lost.
  await expect(page.locator("html")).toHaveAttribute("data-same", "page");
});
