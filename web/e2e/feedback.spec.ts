import {
  agentMessages,
  createAgent,
  openNewSession,
  request,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test, watchComplaints } from "./test";

test("an answer is rated, with a comment that others see at once, and found by it", async ({
  page,
  complaints,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await openNewSession(page, agent, "A bad answer");
  await send(page, "Hello");
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });

  const beside = await page.context().newPage();
  watchComplaints(beside, complaints);
  await beside.goto(page.url());
  await expect(agentMessages(beside).last()).toBeVisible();

  const down = (on: typeof page) => on.getByRole("button", { name: "Bad answer" });
  await down(page).click();
  await expect(down(page)).toHaveAttribute("aria-pressed", "true");
  await expect(down(beside)).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Add a comment" }).click();
  await page.getByLabel("Comment", { exact: true }).fill("It said hello only.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(beside.getByText("“It said hello only.” – you")).toBeVisible();
  await beside.close();

  await page.getByRole("link", { name: "Timeline" }).click();
  const turn = page.getByRole("listbox", { name: "Turns and calls" }).locator("[data-span=turn]");
  await expect(turn).toContainText("rated down");
  await turn.click();
  await expect(page.getByText("Rated down: It said hello only. · you")).toBeVisible();

  await page.goto("/sessions?rated=down");
  await page.getByRole("link", { name: "A bad answer" }).first().click();
  await down(page).click();
  await expect(down(page)).toHaveAttribute("aria-pressed", "false");
  await page.goto("/sessions?rated=down");
  await expect(page.getByRole("heading", { name: "Sessions", exact: true })).toBeVisible();
  await expect(page.getByText("A bad answer")).toBeHidden();
  const { sessions } = await request<{ sessions: { nodes: unknown[] } }>(
    page,
    "{ sessions(filter: {ratedDown: true}) { nodes { id } } }",
    {},
  );
  expect(sessions.nodes).toEqual([]);
});
