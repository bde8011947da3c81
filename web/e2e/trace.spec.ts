import type { Page } from "@playwright/test";
import {
  approvals,
  cancelOpenTurns,
  createAgent,
  openNewSession,
  scriptedCall,
  scriptedError,
  send,
  signIn,
  turnSummary,
  userMessages,
  WRITE_NOTES,
  waitCard,
} from "./steps";
import { expect, test } from "./test";

const lines = (page: Page) => page.getByRole("listbox", { name: "Turns and calls" });
const line = (page: Page, kind: string) => lines(page).locator(`[data-span="${kind}"]`);
const part = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

test("a call is opened in the timeline, with what went in and what came out", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await openNewSession(page, agent, "What was sent");
  await send(page, WRITE_NOTES);
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(line(page, "turn")).toHaveCount(1);
  await expect(line(page, "model")).toHaveCount(2);
  await expect(line(page, "tool")).toHaveCount(1);
  await expect(page.getByText(/2 model calls · 1 tool call · .* tokens/)).toBeVisible();

  const inspector = page.getByRole("region", { name: "Model call" });
  await line(page, "model").last().click();
  await expect(inspector).toContainText("System prompt");
  await expect(inspector).toContainText("Write hello world to file notes.txt");
  await expect(inspector).toContainText("Result of write_file");
  await expect(inspector.getByRole("note")).toBeHidden();
  await part(page, "Usage").click();
  await expect(inspector).toContainText(/Input tokens\d/);
  await part(page, "Output").click();
  await expect(inspector).toContainText("Answer");

  // The link leads to the same part of the same call.
  await page.reload();
  await expect(inspector).toContainText("Answer");
  await expect(lines(page).getByRole("option", { selected: true })).toContainText("sim-default");

  await lines(page).focus();
  await page.keyboard.press("ArrowUp");
  const call = page.getByRole("region", { name: "Write file" });
  await expect(call).toContainText("Result");
  await part(page, "Input").click();
  await expect(call).toContainText("notes.txt");
  await part(page, "Raw").click();
  await expect(call).toContainText("TOOL_COMPLETED");

  await page.keyboard.press("Tab");
  await lines(page).focus();
  await page.keyboard.press("ArrowLeft");
  await expect(line(page, "model")).toHaveCount(0);
  await page.keyboard.press("ArrowRight");
  await expect(line(page, "model")).toHaveCount(2);

  const original = page.url();
  await page.getByRole("button", { name: "Run this turn again" }).click();
  const dialog = page.getByRole("dialog", { name: "Run this turn again" });
  const echo = await dialog
    .locator("option", { hasText: "sim-echo" })
    .first()
    .getAttribute("value");
  await dialog.getByLabel("Model").selectOption(echo);
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).not.toHaveURL(original);
  await expect(userMessages(page)).toHaveCount(1);
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(line(page, "model")).toContainText("sim-echo");
});

test("a call that failed says why, and its turn is forked after a question", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-script");
  await openNewSession(page, agent, "What went wrong");
  await send(page, scriptedError({ status: 401 }));
  await expect(page.locator('[data-failure="provider_misconfigured"]')).toBeVisible();
  await page.goto("/failures");
  await page
    .getByRole("row", { name: /What went wrong/ })
    .getByRole("link", { name: "Turn" })
    .click();
  const turn = page.getByRole("region", { name: /^Turn 1/ });
  await expect(turn.locator("[data-failure]")).toContainText("provider_misconfigured");
  await expect(page.locator('[data-brush] [data-state="failed"]')).toHaveCount(1);
  await line(page, "model").click();
  const call = page.getByRole("region", { name: "Model call" });
  await expect(call.locator("[data-failure]")).toContainText("provider_misconfigured");
  await expect(part(page, "Output")).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByRole("button", { name: "Jump to latest" })).toBeHidden();
  await part(page, "Input").click();
  await expect(call.getByRole("note")).toContainText("The call did not finish");

  const original = page.url();
  await page.getByRole("button", { name: "Fork after this turn" }).click();
  await expect(page).toHaveURL(original);
  const dialog = page.getByRole("dialog", { name: "Fork after this turn" });
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page).not.toHaveURL(original);
  await expect(userMessages(page)).toHaveCount(1);
});

test("what waits is one line, and calls are found by kind and failure", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(
    page,
    "sim-script",
    approvals({ rules: [{ tools: ["delete_file"], approve: "always" }] }),
  );
  await openNewSession(page, agent, "Where it went");
  await send(page, scriptedCall("delete_file", { path: "/workspace/none.txt" }, "Done."));
  await waitCard(page, "APPROVAL").waitFor();
  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(line(page, "approval")).toContainText("Waiting for approval of Delete file");
  await expect(line(page, "approval")).toHaveAttribute("data-state", "open");
  await expect(line(page, "wait")).toHaveCount(0);
  await expect(line(page, "turn")).toHaveAttribute("data-state", "waiting");

  await page.getByRole("link", { name: "Chat" }).click();
  await waitCard(page, "APPROVAL").getByRole("button", { name: "Approve", exact: true }).click();
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(line(page, "approval")).toHaveAttribute("data-state", "ok");
  await expect(line(page, "tool")).toHaveAttribute("data-state", "failed");
  await page.getByLabel("Outcome").selectOption("Failed");
  await expect(lines(page).getByRole("option")).toHaveCount(2);
  await line(page, "tool").click();
  await part(page, "Output").click();
  await expect(page.getByRole("region", { name: "Delete file" })).toContainText("not_found");
  await page.getByLabel("Kind").selectOption("Hooks");
  await expect(page.getByText("No calls match the filter.")).toBeVisible();
  await cancelOpenTurns(page);
});

test("a part of the axis is shown by keys, wheel, buttons and by brushing, and all of it again", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await openNewSession(page, agent, "Looked at closely");
  await send(page, WRITE_NOTES);
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  await page.getByRole("link", { name: "Timeline" }).click();
  const whole = page.locator("[data-window]");
  const shown = page.getByRole("status", { name: "Shown" });
  const all = await shown.textContent();
  await expect(whole).toHaveCount(0);

  const call = line(page, "model").first();
  await call.click();
  await lines(page).focus();
  await page.keyboard.press("f");
  await page.keyboard.press("+");
  await expect(whole).toHaveCount(1);
  // The call fills the axis, and the others lie beside.
  const lane = await call.locator("[data-lane]").boundingBox();
  const bar = await call.locator("[data-lane] > span").first().boundingBox();
  expect((bar?.width ?? 0) / (lane?.width ?? 1)).toBeGreaterThan(0.5);
  const last = line(page, "model").last();
  await expect(last.locator("[data-beside=after]")).toHaveCount(1);
  await last.click();
  await lines(page).focus();
  await page.keyboard.press("f");
  await page.keyboard.press("+");
  await expect(call.locator("[data-beside=before]")).toHaveCount(1);
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("-");
  await page.keyboard.press("0");
  await expect(whole).toHaveCount(0);
  await expect(shown).toHaveText(all ?? "");

  await line(page, "tool").hover();
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await expect(whole).toHaveCount(1);
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(whole).toHaveCount(0);

  const brush = await page.locator("[data-brush]").boundingBox();
  if (!brush) throw new Error("there is no brush");
  const y = brush.y + brush.height / 2;
  await page.mouse.move(brush.x + brush.width * 0.2, y);
  await page.mouse.down();
  await page.mouse.move(brush.x + brush.width * 0.6, y, { steps: 4 });
  await page.mouse.up();
  const drawn = await whole.boundingBox();
  expect((drawn?.width ?? 0) / brush.width).toBeCloseTo(0.4, 1);
  await page.getByRole("button", { name: "Zoom out" }).click();
  await page.getByRole("button", { name: "Zoom out" }).click();
  await expect(whole).toHaveCount(0);
});
