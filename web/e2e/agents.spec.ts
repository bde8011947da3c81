import { createAgent, signIn } from "./steps";
import { expect, test } from "./test";

test("an agent is made with a preview of what it would run with", async ({ page }) => {
  await signIn(page);
  await page.goto("/agents/new");
  await page.getByLabel("ID", { exact: true }).fill("writer");
  await page.getByLabel("Name", { exact: true }).fill("Writer");
  await page.getByLabel("Harness", { exact: true }).selectOption({ label: "Generic" });
  await page
    .getByLabel("Model", { exact: true })
    .selectOption(await optionWith(page, "sim-default"));
  await page.getByLabel("System prompt").fill("You write files, and nothing else.");

  const preview = page.getByRole("complementary", { name: "Effective config" });
  await expect(preview).toContainText("You write files, and nothing else.");
  await expect(preview).toContainText("write_file");

  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page).toHaveURL(/\/agents\/agent_/);
  await page.goto("/agents?q=wri");
  await expect(page.getByRole("link", { name: /Writer/ })).toBeVisible();
});

test("a name that is taken is refused at its field, and nothing that was typed is lost", async ({
  page,
}) => {
  await signIn(page);
  for (const round of ["first", "second"]) {
    await page.goto("/agents/new");
    await page.getByLabel("ID", { exact: true }).fill("twin");
    await page.getByLabel("System prompt").fill(`The ${round} of them.`);
    await page.getByRole("button", { name: "Create agent" }).click();
    if (round === "first") await expect(page).toHaveURL(/\/agents\/agent_/);
  }
  await expect(page.getByLabel("ID", { exact: true })).toHaveAttribute("aria-invalid", "true");
  await page.reload();
  await expect(page.getByLabel("System prompt")).toHaveValue("The second of them.");
  await page.getByRole("button", { name: "Clear" }).click();
});

test("a change by someone else is met without losing one's own", async ({ page, context }) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default");
  await page.goto(`/agents/${agentId}`);
  await page.getByLabel("System prompt").fill("Mine.");

  const other = await context.newPage();
  await other.goto(`/agents/${agentId}`);
  await other.getByLabel("Name", { exact: true }).fill("Theirs");
  await other.getByRole("button", { name: "Save" }).click();
  await expect(other.getByText("rev 2")).toBeVisible();
  await page.bringToFront();

  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(/Someone else changed this agent/)).toBeVisible();
  await page.getByRole("button", { name: "Reload and keep my input" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Theirs");
  await expect(page.getByLabel("System prompt")).toHaveValue("Mine.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 3")).toBeVisible();
});

test("an agent is archived and brought back", async ({ page }) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default");
  await page.goto(`/agents/${agentId}`);
  await page.getByRole("button", { name: "Archive" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Unarchive" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeHidden();
});

async function optionWith(page: import("@playwright/test").Page, text: string): Promise<string> {
  const option = page
    .getByLabel("Model", { exact: true })
    .locator("option", { hasText: text })
    .first();
  return (await option.getAttribute("value")) ?? "";
}

test("a display name suggests the name, and a name that is none is said at once", async ({
  page,
}) => {
  await signIn(page);
  await page.goto("/agents/new");
  await page.getByLabel("Name", { exact: true }).fill("My Agent!");
  const name = page.getByLabel("ID", { exact: true });
  await expect(name).toHaveValue("my-agent");
  await name.fill("My Agent!");
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByRole("button", { name: "Create agent" })).toBeDisabled();
  await page.getByRole("button", { name: "Clear" }).click();
});

test("a client tool is not wrong before anything was typed, and the preview goes on", async ({
  page,
}) => {
  await signIn(page);
  await page.goto("/agents/new");
  await page.getByRole("button", { name: "Add a client tool" }).click();
  const tool = page.getByLabel("Tool name");
  await expect(tool).toHaveAttribute("aria-invalid", "false");
  await expect(page.getByText(/Something is wrong/)).toHaveCount(0);
  const preview = page.getByRole("complementary", { name: "Effective config" });
  await expect(preview).toContainText("Without a client tool that is incomplete.");
  await page.getByLabel("System prompt").fill("Typed after the tool.");
  await expect(preview).toContainText("Typed after the tool.");
  await tool.fill("look up");
  await tool.blur();
  await expect(tool).toHaveAttribute("aria-invalid", "true");
  await page.getByRole("button", { name: "Clear" }).click();
});
