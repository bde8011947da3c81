import {
  agentMessages,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  scriptedError,
  send,
  signIn,
  turnSummary,
  userMessages,
} from "./steps";
import { expect, test } from "./test";

const WRITE_AND_READ = "Write hello world to file notes.txt and then read it back";

test("a turn that took too many steps says so, and goes on when it is told to", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default", { maxIterations: 1 });
  await openNewSession(page, agent, "Limits");
  await send(page, WRITE_AND_READ);
  const sealed = page.locator('[data-sealed="ITERATION_LIMIT"]');
  await expect(sealed.first()).toContainText("it reached the step limit");
  await sealed.first().getByRole("button", { name: "Continue" }).click();
  await expect(userMessages(page).last()).toContainText("Continue.");
  await expect(sealed.first().getByRole("button", { name: "Continue" })).toBeHidden();
});

test("a session is forked from the end of a turn, and says where its history is from", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Original");
  const original = page.url();
  await send(page, "first thought");
  await expect(agentMessages(page)).toHaveCount(1);
  await send(page, "second thought");
  await expect(turnSummary(page)).toHaveCount(2);
  await page.getByRole("button", { name: "Fork from here" }).first().click();
  await expect(page).not.toHaveURL(original);

  const divider = page.locator('[data-role="fork"]');
  await expect(divider).toContainText("The history above is from Original");
  await expect(page.locator("header").getByText("Fork of Original")).toBeVisible();
  const details = page.getByRole("complementary", { name: "Session details" });
  await expect(details).toContainText("Turns1");
  await expect(details).toContainText("Turns include the history; tokens and cost don't.");
  await expect(userMessages(page)).toHaveCount(1);
  await send(page, "another way");
  await expect(agentMessages(page).last()).toContainText("another way");
  await expect(page.getByText("second thought")).toHaveCount(0);

  // The history of a fork can be forked as well.
  await page.getByRole("button", { name: "Fork from here" }).first().click();
  await expect(userMessages(page)).toHaveCount(1);
  await expect(divider).toContainText("The history above is from Original");

  await divider.getByRole("link").click();
  await expect(page).toHaveURL(original);
  await expect(userMessages(page)).toHaveCount(2);

  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page).not.toHaveURL(original);
  await expect(userMessages(page)).toHaveCount(2);
});

test("the turns of several sessions are cancelled at once", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(page, SLOW_ECHO);
  for (const title of ["Busy one", "Busy two"]) {
    await openNewSession(page, agent, title);
    await send(page, longText(3000, "finished"));
    await expect(agentMessages(page).last()).toContainText("word2");
  }
  await page.goto(`/sessions?agent=${agent}&status=ACTIVE`);
  await page.getByLabel("Select Busy one").check();
  await page.getByRole("button", { name: "Select all active" }).click();
  await expect(page.getByText("2 selected")).toBeVisible();
  await page.getByRole("button", { name: "Cancel active turns" }).click();
  await expect(page.getByText("Cancelling 2 turns.")).toBeVisible();
  await page.goto(`/sessions?agent=${agent}`); // a list that is read again has no sessions that are idle by now
  await expect(page.getByRole("row", { name: /Busy one/ })).toContainText("Idle");
  await expect(page.getByRole("row", { name: /Busy two/ })).toContainText("Idle");
});

test("client tools of an agent are edited, and shown in what it would run with", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await page.goto(`/agents/${agent}`);
  await page.getByRole("button", { name: "Add a client tool" }).click();
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await page.getByLabel("Tool name").fill("get_weather");
  await page.getByLabel("Tool description").fill("Tells the weather.");
  await page.getByLabel("Timeout in seconds").fill("30");
  const preview = page.getByRole("complementary", { name: "Effective config" });
  await expect(preview).toContainText("get_weather");
  await expect(preview).toContainText("client tool");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 2")).toBeVisible();
  await page.reload();
  await page.getByText("Tells the weather.").first().click();
  await expect(page.getByLabel("Timeout in seconds")).toHaveValue("30");
});

test("an earlier message is edited, and answered in a fork that ends before it", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "First try");
  for (const [before, text] of ["one", "two", "three"].entries()) {
    await send(page, text);
    await expect(turnSummary(page)).toHaveCount(before + 1);
  }
  const original = page.url();
  const second = userMessages(page).nth(1);
  await second.hover();
  await second.getByRole("button", { name: "Edit in a fork" }).click();
  const field = page.getByRole("textbox", { name: "Edit message" });
  await expect(field).toHaveValue("two");
  await field.fill("two, edited");
  // What is typed is not lost with the page.
  await page.reload();
  await expect(field).toHaveValue("two, edited");
  await page.getByRole("button", { name: "Send in a fork" }).click();
  await expect(page).not.toHaveURL(original);
  await expect(agentMessages(page).last()).toContainText("two, edited");
  await expect(userMessages(page)).toHaveText([/one/, /two, edited/]);
  await page.goto(original);
  await expect(userMessages(page)).toHaveText([/one/, /two/, /three/]);
});

test("a turn that failed is tried again from its message", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script"), "Fails");
  await send(page, scriptedError({ status: 401 }));
  const original = page.url();
  await page.getByRole("button", { name: "Retry in a fork" }).click();
  await expect(page).not.toHaveURL(original);
  await expect(userMessages(page)).toHaveCount(1);
  // The same message fails again, in a turn of its own.
  await expect(page.getByRole("button", { name: "Retry in a fork" })).toBeVisible();
});
