import {
  agentMessages,
  createAgent,
  deliver,
  longText,
  openNewSession,
  SLOW_ECHO,
  send,
  signIn,
  userMessages,
} from "./steps";
import { expect, test } from "./test";

test("queued messages are edited, moved by button and by keyboard, and removed, in every browser", async ({
  page,
  context,
}) => {
  test.setTimeout(120_000);
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "The queue");
  await send(page, longText(3000, "finished"));
  await expect(agentMessages(page).last()).toContainText("word2");
  await deliver(page, "Queue");
  for (const each of ["apple", "banana", "cherry"]) await send(page, each);

  const rows = page.getByRole("region", { name: "Queued messages" }).getByRole("listitem");
  await expect(rows).toHaveCount(3);
  const second = await context.newPage();
  await second.goto(page.url());
  const seen = second.getByRole("region", { name: "Queued messages" }).getByRole("listitem");
  await expect(seen).toHaveCount(3);
  await page.bringToFront();

  await page.getByRole("button", { name: "Run earlier: cherry" }).click();
  await expect(rows.nth(1)).toContainText("cherry");
  await expect(seen.nth(1)).toContainText("cherry");

  const cherry = page.getByRole("button", { name: "Edit: cherry" });
  await cherry.focus();
  await page.keyboard.press("Alt+ArrowUp");
  await expect(rows.nth(0)).toContainText("cherry");
  await expect(cherry).toBeFocused();

  await page.getByRole("button", { name: "Edit: banana" }).click();
  const field = page.getByRole("textbox", { name: "Queued message" });
  await field.fill("blueberry");
  await page.reload();
  await expect(field).toHaveValue("blueberry");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Edit: blueberry" })).toBeVisible();
  await expect(second.getByRole("button", { name: "Edit: blueberry" })).toBeVisible();

  await page.getByRole("button", { name: "Remove: apple" }).click();
  await expect(rows).toHaveCount(2);
  await expect(seen).toHaveCount(2);

  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(agentMessages(page)).toHaveCount(3, { timeout: 20_000 });
  await expect(userMessages(page).nth(1)).toContainText("cherry");
  await expect(userMessages(page).nth(2)).toContainText("blueberry");
  await expect(page.getByText("apple")).toHaveCount(0);
});

test("a message that interrupts ends the answer under way and is answered next", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Interruptions");
  await send(page, longText(1500, "finished"));
  await expect(agentMessages(page).last()).toContainText("word5");
  await deliver(page, "Queue");
  await send(page, "much later");
  await expect(page.getByRole("region", { name: "Queued messages" })).toBeVisible();
  await deliver(page, "Interrupt");
  await send(page, "something else");

  await expect(agentMessages(page).nth(0)).toHaveAttribute("data-state", "interrupted");
  await expect(agentMessages(page).nth(1)).toContainText("something else", { timeout: 20_000 });
  await expect(agentMessages(page).nth(2)).toContainText("much later", { timeout: 20_000 });
  await expect(agentMessages(page).nth(0)).toContainText("word5");
  await expect(page.getByText(/Stopped by you: .*interrupted/)).toBeVisible();
  await page.reload();
  await expect(agentMessages(page).nth(0)).toHaveAttribute("data-state", "interrupted");
  await expect(userMessages(page)).toHaveCount(3);
});

test("how messages are delivered is remembered, and asked only while there is work", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Memory");
  const delivery = page.getByRole("group", { name: "Delivery" });
  await expect(page.getByText("Start the conversation")).toBeVisible();
  await expect(delivery).toBeHidden();
  await send(page, longText(1500, "finished"));
  await deliver(page, "Interrupt");
  await page.reload();
  await expect(delivery.getByLabel("Interrupt")).toBeChecked();
  await page.keyboard.press("Control+.");
  await expect(delivery).toBeHidden();
});

test("stopping in the middle of an answer keeps what was said", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Enough");
  await send(page, longText(1500, "finished"));
  await expect(agentMessages(page).last()).toContainText("word10");
  await page.getByRole("textbox", { name: "Message" }).press("Escape");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByText("Stopped by you")).toBeVisible();
  const answer = agentMessages(page).last();
  await expect(answer).toHaveAttribute("data-state", "interrupted");
  await expect(answer).toContainText("word10");
  await expect(answer).not.toContainText("finished");
  const kept = await answer.textContent();
  await page.reload();
  await expect(answer).toHaveText(kept ?? "");
  await send(page, "go on");
  await expect(agentMessages(page)).toHaveCount(2);
  await expect(agentMessages(page).last()).toContainText("go on");
});
