import { readFile } from "node:fs/promises";
import {
  agentMessages,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  scriptedError,
  send,
  signIn,
  toolCard,
  turnSummary,
  userMessages,
} from "./steps";
import { expect, test, watchComplaints } from "./test";

test("a session is started from the list, and its agent uses tools", { tag: "@smoke" }, async ({
  page,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default");
  await page.goto("/sessions");
  await page.getByRole("button", { name: "New session" }).click();
  await page.locator(`input[type="radio"][value="${agentId}"]`).check();
  await page.getByRole("dialog").getByLabel("Title").fill("Notes");
  await page.getByRole("button", { name: "Start session" }).click();
  await expect(page.getByRole("heading", { name: "Notes", exact: true })).toBeVisible();

  await send(page, "Write hello world to file notes.txt and then read it back");
  await expect(userMessages(page)).toContainText("Write hello world");
  await expect(toolCard(page, "write_file")).toHaveAttribute("data-state", "succeeded");
  await expect(toolCard(page, "read_file")).toHaveAttribute("data-state", "succeeded");
  await expect(turnSummary(page)).toBeVisible();
  await expect(agentMessages(page).last()).not.toBeEmpty();

  await toolCard(page, "write_file").locator("summary").click();
  await expect(toolCard(page, "write_file")).toContainText("hello world");

  const details = page.getByRole("complementary", { name: "Session details" });
  await details.getByRole("button", { name: /notes\.txt/ }).click();
  await expect(page.getByRole("dialog")).toContainText("hello world");
  await page.keyboard.press("Escape");

  await page.getByRole("link", { name: "Events" }).click();
  await page.getByLabel("Kind").selectOption("TOOL_COMPLETED");
  await expect(page).toHaveURL(/kind=TOOL_COMPLETED/);
  await page
    .getByRole("button", { name: /TOOL_COMPLETED/ })
    .first()
    .click();
  await expect(page.getByText('"toolName"').first()).toBeVisible();

  await page.getByRole("link", { name: "Config" }).click();
  await expect(page.getByText("You are a helper.")).toBeVisible();
});

test("messages are copied, long ones cut short, and the session is saved as a file", async ({
  page,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Kept");
  const code = "```js\nconst answer = 42;\n```";
  await send(page, code);
  await expect(turnSummary(page)).toBeVisible();
  await expect(agentMessages(page).locator(".hljs-keyword")).toHaveText("const");
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await agentMessages(page).getByRole("button", { name: "Copy code" }).click();
  expect((await clipboard()).trim()).toBe("const answer = 42;");
  await userMessages(page).getByRole("button", { name: "Copy message" }).click();
  expect(await clipboard()).toBe(code);

  await send(page, "line\n".repeat(200));
  const long = userMessages(page).last();
  await expect(long).toContainText("…");
  const cut = (await long.boundingBox())?.height ?? 0;
  await long.getByRole("button", { name: /^Show all/ }).click();
  await expect(long).not.toContainText("…");
  expect((await long.boundingBox())?.height ?? 0).toBeGreaterThan(2 * cut);
  await expect(turnSummary(page)).toHaveCount(2);

  const saved = async (format: string) => {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: format }).click();
    return readFile(await (await download).path(), "utf8");
  };
  expect(await saved("Conversation (Markdown)")).toContain("const answer = 42;");
  const lines = (await saved("Events (JSON Lines)")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).sequence)).toEqual(lines.map((_, i) => i + 1));
});

test("a new session has the agent of the page before", async ({ page }) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-echo");
  await createAgent(page, "sim-echo");
  await page.goto(`/agents/${agentId}`);
  await page.getByRole("link", { name: "New session" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("radio").nth(1)).toHaveValue(agentId);
  await expect(dialog.locator(`input[value="${agentId}"]`)).toBeChecked();
  await expect(dialog.locator(`input[value="${agentId}"]`)).toBeFocused();
  await dialog.getByRole("button", { name: "Start session" }).click();
  await expect(page.locator(`header a[href="/agents/${agentId}"]`)).toBeVisible();
});

test("reloading in the middle of an answer loses nothing", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Reload");
  const text = longText(150, "finished");
  await send(page, text);
  await expect(agentMessages(page).last()).toContainText("word10");
  await page.getByRole("textbox", { name: "Message" }).fill("half a thought");

  await page.reload();
  await expect(agentMessages(page).last()).toContainText("word0 word1 word2");
  await expect(page.getByRole("textbox", { name: "Message" })).toHaveValue("half a thought");
  await expect(agentMessages(page).last()).toContainText("finished", { timeout: 20_000 });
  await expect(agentMessages(page).last()).toContainText(text);
  await expect(userMessages(page)).toHaveCount(1);
});

test("a second browser follows live and shows the same", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Two readers");
  const context = await browser.newContext({ ...(baseURL ? { baseURL } : {}) });
  const second = await context.newPage();
  watchComplaints(second, complaints);
  await signIn(second);
  await second.goto(page.url());
  await expect(second.getByRole("heading", { name: "Two readers", exact: true })).toBeVisible();

  await send(page, longText(80, "finished"));
  await expect(agentMessages(second).last()).toContainText("word5");
  await expect(turnSummary(second)).toBeVisible({ timeout: 20_000 });
  await expect(turnSummary(page)).toBeVisible();
  const log = (each: typeof page) => each.getByRole("log").textContent();
  expect(await log(second)).toBe(await log(page));
  await context.close();
});

test("a queued message waits its turn, and then gets its own answer", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Queue");
  await send(page, longText(120, "finished"));
  await expect(agentMessages(page).last()).toContainText("word2");
  await page.getByText("Queue", { exact: true }).last().click();
  await send(page, "second question");

  const queue = page.getByRole("region", { name: "Queued messages" });
  await expect(queue).toContainText("second question");
  await expect(queue).toBeHidden({ timeout: 20_000 });
  await expect(agentMessages(page)).toHaveCount(2);
  await expect(agentMessages(page).last()).toContainText("second question");
  await expect(userMessages(page).last()).toContainText("second question");
});

test("the page follows an answer until the reader scrolls up", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Follow");
  await page.setViewportSize({ width: 1280, height: 420 });
  await send(page, longText(300, "finished"));
  await expect(agentMessages(page).last()).toContainText("word60");
  await page.getByRole("log").hover();
  await page.mouse.wheel(0, -400);
  const jump = page.getByRole("button", { name: "Jump to latest" });
  await expect(jump).toBeVisible();
  await jump.click();
  await expect(jump).toBeHidden();
});

test("the palette leads to a session by its title", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default"), "Findable");
  await page.goto("/agents");
  await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /Search pages/ }).fill("Findable");
  await expect(page.getByRole("option", { name: /Findable/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Findable", exact: true })).toBeVisible();
});

test("a model that fails is asked again before one's eyes, and the failure stays where it was", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script"), "Limits");
  await send(page, scriptedError({ status: 429, retry_after_ms: 1500 }));
  const retry = page.locator('[data-role="retry"]');
  await expect(retry).toContainText("Retrying");
  await expect(retry).toContainText("provider_rate_limited");
  const failure = page.locator('[data-failure="provider_rate_limited"]');
  await expect(failure).toBeVisible({ timeout: 20_000 });
  await expect(retry).toBeHidden();
  await page.reload();
  await expect(failure).toHaveCount(1);
});

test("a key that is refused leads to the providers", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script"), "Keys");
  await send(page, scriptedError({ status: 401 }));
  await page.getByRole("log").getByRole("link", { name: "Provider settings" }).click();
  await expect(page.getByRole("heading", { name: "Models and providers" })).toBeVisible();
});
