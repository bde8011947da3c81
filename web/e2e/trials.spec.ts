import { catalogIds, createAgent, request, signIn } from "./steps";
import { expect, test } from "./test";

test("a draft is tried beside the last saved revision, and leaves no trace in lists", async ({
  page,
}) => {
  await signIn(page);
  const id = await createAgent(page, "sim-default");
  await page.goto(`/agents/${id}`);
  await page.getByRole("button", { name: "Try it" }).click();
  const panel = page.getByRole("complementary", { name: "Try it" });
  const message = panel.getByRole("textbox", { name: "Message to try" });

  // What isn't changed is one version.
  await message.fill("Echo good morning");
  await message.press("Enter");
  await expect(panel.getByRole("region", { name: "Revision 1" })).toContainText("simulated model");
  await expect(panel.getByRole("region")).toHaveCount(1);

  // The draft runs on another model, which nobody has saved.
  const { models } = await request<{ models: { nodes: { id: string; name: string }[] } }>(
    page,
    "{ models(first: 100) { nodes { id name } } }",
    {},
  );
  const echo = models.nodes.find(({ name }) => name === "sim-echo")?.id ?? "";
  await page.getByLabel("Model", { exact: true }).selectOption(echo);
  await expect(panel.getByText("The next message starts over")).toBeVisible();
  await message.fill("List the files");
  await message.press("Enter");
  const [draft, saved] = [
    panel.getByRole("region", { name: "Draft" }),
    panel.getByRole("region", { name: "Revision 1" }),
  ];
  await expect(draft.locator('[data-role="agent"]')).toHaveText(/List the files/);
  await expect(saved.locator('[data-tool="list_directory"]')).toBeVisible();
  await expect(panel.getByRole("region")).toHaveCount(2);

  // A second message goes on in both.
  await message.fill("And now?");
  await message.press("Enter");
  await expect(draft.locator('[data-role="user"]')).toHaveCount(2);
  await expect(saved.locator('[data-role="user"]')).toHaveCount(2);

  // A look at the configuration ends no trial.
  await page.getByRole("button", { name: "Effective config" }).click();
  await expect(panel).toBeHidden();
  await page.getByRole("button", { name: "Try it" }).click();
  await expect(draft.locator('[data-role="user"]')).toHaveCount(2);

  const { agent, sessions, trials } = await request<{
    agent: { revision: number; sessions: { totalCount: number } };
    sessions: { totalCount: number };
    trials: { nodes: { trial: boolean; usage: { outputTokens: number } }[] };
  }>(
    page,
    `query ($id: ID!) {
      agent(id: $id) { revision sessions { totalCount } }
      sessions(filter: {agentId: $id}) { totalCount }
      trials: sessions(filter: {agentId: $id, trial: true}) { nodes { trial usage { outputTokens } } }
    }`,
    { id },
  );
  expect(agent).toEqual({ revision: 1, sessions: { totalCount: 0 } });
  expect(sessions.totalCount).toBe(0);
  expect(trials.nodes).toHaveLength(3);
  for (const { usage } of trials.nodes) expect(usage.outputTokens).toBeGreaterThan(0);
});

test("a harness is tried before it exists", async ({ page }) => {
  await signIn(page);
  await page.goto("/harnesses/new");
  await page.getByRole("button", { name: "Try it" }).click();
  const panel = page.getByRole("complementary", { name: "Try it" });
  await expect(panel).toContainText("A harness without a parent can't be tried.");
  await page.getByLabel("Parent").selectOption((await catalogIds(page)).harnessId);
  const message = panel.getByRole("textbox", { name: "Message to try" });
  await message.fill("List the files");
  await message.press("Enter");
  await expect(panel.locator('[data-tool="list_directory"]')).toBeVisible();
});
