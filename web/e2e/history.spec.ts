import { createAgent, signIn } from "./steps";
import { expect, test } from "./test";

test("a change is kept with its reason, compared line by line, and taken back", async ({
  page,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default");
  await page.goto(`/agents/${agentId}`);
  await page.getByLabel("System prompt").fill("You are a helper.\nYou answer in rhymes.");
  const fallback = page.getByLabel("Add a fallback");
  const echo = fallback.locator("option", { hasText: "sim-echo" }).first();
  await fallback.selectOption(await echo.getAttribute("value"));
  await page.getByLabel(/^Reason/).fill("Rhymes sell");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 2")).toBeVisible();

  await page.getByRole("link", { name: "History" }).click();
  const revisions = page.getByRole("list", { name: "Revisions" });
  await expect(revisions.getByRole("button", { name: /Revision 2/ })).toContainText("Rhymes sell");
  await expect(revisions.getByRole("button", { name: /Revision 2/ })).toContainText(
    "System prompt",
  );
  const prompt = page.locator('[data-field="systemPrompt"]');
  await expect(prompt.locator('[data-line="added"]')).toHaveText(/You answer in rhymes\./);
  await expect(prompt.locator('[data-line="removed"]')).toHaveCount(0);

  await revisions.getByRole("button", { name: /Revision 1/ }).click();
  await expect(page).toHaveURL(/to=1/);
  await page.getByRole("button", { name: "Restore revision 1" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^Reason/).fill("They do not");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(page.getByText("rev 3")).toBeVisible();
  await expect(revisions.getByRole("button", { name: /Revision 3/ })).toContainText("They do not");
  await expect(prompt.locator('[data-line="removed"]')).toHaveText(/You answer in rhymes\./);

  await page.goto(`/agents/${agentId}`);
  await expect(page.getByLabel("System prompt")).toHaveValue("You are a helper.");
});

test("a harness is made from a built-in one, which itself can't be changed", async ({ page }) => {
  await signIn(page);
  await page.goto("/harnesses");
  await page.getByRole("link", { name: /Generic/ }).click();
  await expect(page.getByText("can't be changed")).toBeVisible();
  await expect(page.getByLabel("System prompt")).toBeDisabled();
  await expect(page.getByRole("complementary", { name: "Effective config" })).toContainText(
    "write_file",
  );
  await page.getByRole("link", { name: "New child" }).click();
  await page.getByLabel("ID", { exact: true }).fill("careful");
  await page.getByLabel("System prompt").fill("Check everything twice.");
  await page.getByRole("button", { name: "Create harness" }).click();
  await expect(page).toHaveURL(/\/harnesses\/(?!new)/);
  const preview = page.getByRole("complementary", { name: "Effective config" });
  await expect(preview).toContainText("Check everything twice.");
  await page.getByLabel("Max iterations").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 2")).toBeVisible();
  await expect(preview).toContainText("7");
});
