import { createAgent, openNewSession, send, signIn, WRITE_NOTES, waitCard } from "./steps";
import { expect, test } from "./test";

test("approvals are attached by a preset and a rule, and the run asks as the preview said", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await page.goto(`/agents/${agent}`);

  // What the harness brings is in effect, and not the agent's to take away.
  const files = page.getByRole("listitem").filter({ hasText: "from Generic" });
  await expect(files.getByRole("checkbox", { name: /^Files/ })).toBeChecked();
  await expect(files.getByRole("checkbox", { name: /^Files/ })).toBeDisabled();

  await page.getByRole("checkbox", { name: /^Approvals/ }).check();
  const settings = page.getByRole("region", { name: "Settings of Approvals" });
  await expect(settings.getByRole("radio", { name: "Before anything destructive" })).toBeChecked();
  const preview = page.getByRole("complementary", { name: "Effective config" });
  const tool = (name: string) => preview.getByRole("listitem").filter({ hasText: name });
  await expect(tool("write_file")).toContainText("needs approval");
  await expect(tool("read_many_files")).not.toContainText("needs approval");

  await settings.getByRole("radio", { name: "Only where a rule says so" }).check();
  await expect(tool("write_file")).not.toContainText("needs approval");
  await settings.getByRole("button", { name: "Add a rule" }).click();
  await settings.getByLabel("Add to tools").selectOption("write_file");
  await expect(tool("write_file")).toContainText("needs approval");
  await settings.getByLabel("Only if").fill("arguments.path.startsWith('/workspace/')");
  await expect(tool("write_file")).toContainText("may need approval");
  await settings.getByLabel("Only if").fill("");
  await settings.getByRole("checkbox", { name: "People may approve their own turns" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 2")).toBeVisible();

  await openNewSession(page, agent, "Asked");
  await send(page, WRITE_NOTES);
  const card = waitCard(page, "APPROVAL");
  await expect(card).toContainText("Approve write_file?");
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(card).toBeHidden();
});

test("settings show what is wrong at its field, and where JSON is broken", async ({ page }) => {
  await signIn(page);
  await page.goto(`/agents/${await createAgent(page, "sim-default")}`);
  await page.getByRole("checkbox", { name: /^User hooks/ }).check();
  const settings = page.getByRole("region", { name: "Settings of User hooks" });
  await settings.getByRole("button", { name: "Add a hook" }).click();
  await settings.getByRole("combobox", { name: "Event" }).selectOption("Before a tool runs");
  await settings.getByRole("button", { name: "Evaluate an expression" }).click();
  const expression = settings.getByRole("textbox", { name: "Expression" });
  await expression.fill("tool ==");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(expression).toHaveAttribute("aria-invalid", "true");
  await expect(expression).toHaveAccessibleDescription(/The expression can't be used/);

  await settings.getByRole("button", { name: "JSON" }).click();
  const json = settings.getByRole("textbox", { name: "Settings as JSON" });
  await json.fill('{\n  "hooks": [}\n');
  await expect(json).toHaveAccessibleDescription(/^Line 2: /);
  await json.fill('{"hooks": [{"event": "pre_tool_use", "cel": {"expression": "true"}}]}');
  await settings.getByRole("button", { name: "Form" }).click();
  await expect(expression).toHaveValue("true");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("rev 2")).toBeVisible();
});
