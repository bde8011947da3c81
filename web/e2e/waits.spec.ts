import {
  agentMessages,
  approvals,
  createAgent,
  openNewSession,
  scriptedCall,
  send,
  signIn,
  toolCard,
  turnSummary,
  WRITE_NOTES,
  waitCard,
} from "./steps";
import { expect, test, watchComplaints } from "./test";

test("an approval is given in a second browser, and is gone in the first at once", {
  tag: "@smoke",
}, async ({ page, browser, baseURL, complaints }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default", approvals()), "Careful");
  await send(page, WRITE_NOTES);
  const card = waitCard(page, "APPROVAL");
  await expect(card).toContainText("Approve write_file?");
  await expect(card).toContainText("hello world");
  await expect(card).toContainText(/\d+ (h|min) .*left|min left/);
  await expect(page.locator("[data-wait-count]").first()).toContainText("1");

  const context = await browser.newContext({ ...(baseURL ? { baseURL } : {}) });
  const second = await context.newPage();
  watchComplaints(second, complaints);
  await signIn(second);
  const forYou = second.getByRole("region", { name: /^Waiting for you/ });
  await expect(forYou).toContainText("Approve write_file?");
  await second.getByRole("link", { name: /^Approvals/ }).click();
  const waits = second.getByRole("list", { name: "Open waits" });
  await expect(waits).toContainText("Careful");
  await waits.getByLabel("Note").fill("Looks right");
  await waits.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(second.getByText("You're all caught up")).toBeVisible();

  await expect(card).toBeHidden();
  await expect(toolCard(page, "write_file")).toHaveAttribute("data-state", "succeeded");
  await expect(page.getByText("write_file was approved by you: Looks right")).toBeVisible();
  await expect(page.locator("[data-wait-count]")).toHaveCount(0);
  await context.close();
});

test("a call that is denied does not run, and the agent is told why", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default", approvals()), "Denied");
  await send(page, WRITE_NOTES);
  const card = waitCard(page, "APPROVAL");
  await card.getByLabel("Note").fill("Not this file");
  await page.reload();
  await expect(card.getByLabel("Note")).toHaveValue("Not this file");
  await card.getByRole("button", { name: "Deny" }).click();
  await expect(card).toBeHidden();
  await expect(page.getByText("write_file was denied by you: Not this file")).toBeVisible();
  await expect(turnSummary(page)).toBeVisible();
  await expect(toolCard(page, "write_file")).toHaveAttribute("data-state", "denied");
});

test("arguments are edited before a call is approved", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default", approvals()), "Edited");
  await send(page, WRITE_NOTES);
  const card = waitCard(page, "APPROVAL");
  await card.getByRole("button", { name: "Edit arguments" }).click();
  const approve = card.getByRole("button", { name: "Approve with these arguments" });
  const as = card.getByRole("group", { name: "Arguments as" });
  await as.getByRole("button", { name: "JSON", exact: true }).click();
  const field = card.getByLabel("Arguments as JSON");
  await field.fill("{");
  await expect(card).toContainText("Line 1: a closing } is expected.");
  await expect(approve).toBeDisabled();
  await field.fill('{"nonsense": 1}');
  await approve.click();
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await field.fill(JSON.stringify({ path: "/workspace/notes.txt", content: "hello" }));
  await as.getByRole("button", { name: "Form", exact: true }).click();
  await card.getByLabel("content", { exact: true }).fill("good bye");
  await approve.click();
  await expect(card).toBeHidden();
  await expect(page.getByText(/was approved, with edited arguments, by you/)).toBeVisible();
  await toolCard(page, "write_file").locator("summary").click();
  await expect(toolCard(page, "write_file")).toContainText("good bye");
});

test("more than one person has to approve, and nobody their own turn unless they may", async ({
  page,
}) => {
  await signIn(page);
  const two = await createAgent(page, "sim-default", approvals({ quorum: 2 }));
  await openNewSession(page, two, "Quorum");
  await send(page, WRITE_NOTES);
  const card = waitCard(page, "APPROVAL");
  await expect(card).toContainText("0 of 2 approvals");
  await card.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(card).toContainText("1 of 2 approvals");
  await expect(card).toContainText("You approved this");
  // Decisions can't be changed.
  for (const name of ["Approve", "Deny"]) {
    await expect(card.getByRole("button", { name, exact: true })).toBeHidden();
  }
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(card).toBeHidden();

  const others = await createAgent(page, "sim-default", approvals({ allowSelf: false }));
  await openNewSession(page, others, "Somebody else");
  await send(page, WRITE_NOTES);
  await expect(card).toContainText("because you wrote in it");
  await expect(card.getByRole("button", { name: "Approve", exact: true })).toBeHidden();
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  await expect(card).toBeHidden();
});

test("a question of the agent is answered with an option, or in one's own words", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-script", { capabilities: [{ id: "ask_user" }] });
  const question = { question: "Which colour?", options: ["Red", "Green"] };
  await openNewSession(page, agent, "Questions");
  await send(page, scriptedCall("ask_user", question, "Thank you."));
  const card = waitCard(page, "QUESTION");
  await expect(card).toContainText("Which colour?");
  await card.getByRole("button", { name: "Green" }).click();
  await expect(card).toBeHidden();
  await expect(agentMessages(page).last()).toContainText("Thank you.");
  // Without opening it.
  await expect(toolCard(page, "ask_user").locator("[data-answer]")).toContainText("Green");
  await toolCard(page, "ask_user").locator("summary").click();
  await expect(toolCard(page, "ask_user")).toContainText("Green");

  await send(page, scriptedCall("ask_user", { question: "Why?" }, "I see."));
  await card.getByLabel("Your answer").fill("Because I say so");
  await page.reload();
  await expect(card.getByLabel("Your answer")).toHaveValue("Because I say so");
  await card.getByRole("button", { name: "Answer" }).click();
  await expect(agentMessages(page).last()).toContainText("I see.");
});

const WEATHER = {
  clientTools: [
    {
      name: "get_weather",
      displayName: "Weather",
      description: "Tells the weather.",
      inputSchema: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
      },
      timeoutSeconds: 3600,
    },
  ],
};

test("the result of a client tool is brought by hand", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script", WEATHER), "Weather");
  await send(page, scriptedCall("get_weather", { city: "Oslo" }, "It is cold."));
  const card = waitCard(page, "CLIENT_TOOL");
  await expect(card).toContainText("Waiting for your program: get_weather");
  await expect(card).toContainText("Oslo");
  await expect(card).toContainText(/min left/);
  await card.getByText("Submit a result by hand").click();
  await card.getByLabel("Result as JSON").fill("-5 degrees");
  await card.getByRole("button", { name: "Submit result" }).click();
  await expect(card).toContainText(/Line 1: /);
  await card.getByLabel("Result as JSON").fill('{"degrees": -5}');
  await card.getByRole("button", { name: "Submit result" }).click();
  await expect(card).toBeHidden();
  await expect(agentMessages(page).last()).toContainText("It is cold.");

  await send(page, scriptedCall("get_weather", { city: "Rome" }, "No idea."));
  await card.getByText("Submit a result by hand").click();
  await card.getByText("It failed").click();
  await card.getByLabel("Error for the agent").fill("No such city");
  await card.getByRole("button", { name: "Submit result" }).click();
  await expect(agentMessages(page).last()).toContainText("No idea.");
  await expect(toolCard(page, "get_weather").last()).toHaveAttribute("data-state", "failed");
});

test("a callback is reported with the token that the page shows", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-script", { capabilities: [{ id: "callbacks" }] });
  await openNewSession(page, agent, "Callbacks");
  await send(page, scriptedCall("wait_for_callback", { purpose: "the build" }, "It is built."));
  const card = waitCard(page, "COMPLETION");
  await expect(card).toContainText("the build");
  const token = await card.locator("pre").filter({ hasText: /^\S+$/ }).first().textContent();
  const response = await page.request.post(`/v1/waits/${token}`, { data: { value: { ok: true } } });
  expect(await response.json()).toEqual({ resolution: "ACCEPTED" });
  await expect(card).toBeHidden();
  await expect(agentMessages(page).last()).toContainText("It is built.");
});

test.describe("while the server is away", () => {
  test.use({ serverGoesAway: true });

  test("an approval waits, and is given after the restart", async ({ page, ostler }) => {
    await signIn(page);
    await openNewSession(page, await createAgent(page, "sim-default", approvals()), "Patient");
    await send(page, WRITE_NOTES);
    const card = waitCard(page, "APPROVAL");
    await expect(card).toBeVisible();
    await ostler.kill();
    await expect(page.getByText(/Reconnecting – data as of/)).toBeVisible();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await expect(card.getByRole("alert")).toContainText("can't be reached");

    await ostler.run();
    await expect(page.getByText(/Reconnecting/)).toBeHidden({ timeout: 20_000 });
    await expect(card).toBeVisible();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await expect(toolCard(page, "write_file")).toHaveAttribute("data-state", "succeeded");
    await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  });
});
