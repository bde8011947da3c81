import type { Page } from "@playwright/test";
import {
  agentMessages,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  send,
  signIn,
  toolCard,
  turnSummary,
  userMessages,
} from "./steps";
import { expect, test } from "./test";

const CALLS = 60;

/** A turn of many steps, which leaves about 500 events: five pages of them. */
const manySteps = JSON.stringify({
  responses: [
    ...Array.from({ length: CALLS }, (_, index) => ({
      chunks: [
        { text: `Step number ${index + 1}. ` },
        { tool_call: { name: "write_file", arguments: { path: `f${index}.txt`, content: "x" } } },
      ],
    })),
    { chunks: [{ text: "All of it is done." }] },
  ],
});

async function openLongSession(page: Page, title: string): Promise<void> {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script", { maxIterations: 100 }), title);
  await send(page, manySteps);
  await expect(turnSummary(page)).toBeVisible({ timeout: 40_000 });
}

/** How far what holds the rows is from its end, in pixels. */
const distance = (page: Page, role: "log" | "listbox") =>
  page.getByRole(role).evaluate((element) => {
    let scroller: Element | null = element;
    while (scroller && getComputedStyle(scroller).overflowY !== "auto") {
      scroller = scroller.parentElement;
    }
    if (!scroller) throw new Error("nothing scrolls");
    return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
  });

/** The operations that the page asks from now on. */
function watchOperations(page: Page): string[] {
  const operations: string[] = [];
  page.on("request", (request) => {
    const name = /"operationName":"(\w+)"/.exec(request.postData() ?? "")?.[1];
    if (name) operations.push(name);
  });
  return operations;
}

test("a long session opens at its newest message, with what is in sight alone", async ({
  page,
}) => {
  await openLongSession(page, "Long");
  const operations = watchOperations(page);
  for (let opened = 0; opened < 3; opened += 1) {
    await page.reload();
    await expect(agentMessages(page).last()).toContainText("All of it is done.");
    await expect.poll(() => distance(page, "log")).toBeLessThan(2);
    await expect(page.getByRole("button", { name: "Jump to latest" })).toBeHidden();
  }
  await expect(page.getByRole("banner").or(page.locator("header")).first()).toContainText("Idle");
  expect(await page.locator("*").count()).toBeLessThan(1500);
  expect(operations.filter((name) => name === "SessionNow")).toHaveLength(3);
  // A second page at most: the past is not read before somebody goes there.
  expect(operations.filter((name) => name === "SessionBefore").length).toBeLessThan(4);

  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(page.getByRole("option").last()).toBeVisible();
  await expect.poll(() => distance(page, "listbox")).toBeLessThan(2);
});

test("a long session follows a new answer to its end", async ({ page }) => {
  await openLongSession(page, "Followed");
  await page.reload();
  await expect(agentMessages(page).last()).toContainText("All of it is done.");
  const text = longText(400, "finished");
  await send(page, JSON.stringify({ responses: [{ chunks: [{ text }] }] }));
  await expect(agentMessages(page).last()).toContainText("finished");
  await expect.poll(() => distance(page, "log")).toBeLessThan(2);
  await expect(page.getByRole("button", { name: "Jump to latest" })).toBeHidden();
});

test("the past is read on the way up, and what is in sight stays in its place", async ({
  page,
}) => {
  await openLongSession(page, "Past");
  await page.reload();
  await expect(agentMessages(page).last()).toContainText("All of it is done.");
  const first = page.getByText("Step number 1.", { exact: true });
  await page.getByRole("log").hover();
  await expect(async () => {
    await page.mouse.wheel(0, -600);
    await expect(first).toBeInViewport({ timeout: 300 });
  }).toPass({ timeout: 40_000 });
  await expect(toolCard(page, "write_file").first()).toContainText("f0.txt");

  // The click reads the past while its answer is held up; the text must not move by it.
  await page.reload();
  await expect(agentMessages(page).last()).toContainText("All of it is done.");
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("SessionBefore")) await held;
    await route.continue();
  });
  await page.getByRole("log").hover();
  await expect(async () => {
    await page.mouse.wheel(0, -600);
    await expect(page.getByRole("button", { name: "Load earlier" })).toBeInViewport({
      timeout: 300,
    });
  }).toPass({ timeout: 20_000 });
  const seen = agentMessages(page).nth(1);
  const words = (await seen.textContent()) ?? "";
  const before = await seen.boundingBox();
  release();
  await expect(page.getByRole("button", { name: "Load earlier" })).not.toBeInViewport();
  const after = await agentMessages(page).filter({ hasText: words }).boundingBox();
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(3);
});

test("events of the past are found, though the page has not read them", async ({ page }) => {
  await openLongSession(page, "Searched");
  await page.getByRole("link", { name: "Events" }).click();
  await page.reload();
  await expect(page.getByText(/latest \d+ events/)).toBeVisible();
  await page.getByLabel("Search the data of events").fill("f0.txt");
  await expect(page.getByRole("button", { name: /TOOL_STARTED/ })).toBeVisible({ timeout: 20_000 });

  await page.getByLabel("Search the data of events").fill("");
  await page.reload();
  await expect(page.getByText(/latest \d+ events/)).toBeVisible();
  // Which kinds there are, only the whole log knows.
  const kinds = page.getByLabel("Kind");
  await kinds.focus();
  await kinds.selectOption("TURN_STARTED");
  await expect(page.getByText(/^1 of \d+$/)).toBeVisible();
});

test("a session whose events are very long is read in smaller pages", async ({ page }) => {
  await openLongSession(page, "Heavy");
  const sizes: number[] = [];
  await page.route("**/graphql", async (route) => {
    const last = Number(/"last":(\d+)/.exec(route.request().postData() ?? "")?.[1] ?? 0);
    if (last > 0) sizes.push(last);
    if (last <= 20) return route.continue();
    const errors = [{ message: "Too long.", extensions: { code: "QUERY_TOO_COMPLEX" } }];
    return route.fulfill({ json: { data: null, errors } });
  });
  await page.reload();
  await expect(agentMessages(page).last()).toContainText("All of it is done.");
  await expect.poll(() => distance(page, "log")).toBeLessThan(2);
  expect(sizes.slice(0, 2)).toEqual([100, 20]);
});

test("a message stands once, however long its answer takes", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Once");
  await expect(page.getByRole("textbox", { name: "Message" })).toBeFocused();
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes('"SendMessage"')) return route.continue();
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  // Without a click: the field has the focus.
  await page.keyboard.type("just once");
  await page.keyboard.press("Enter");
  await expect(agentMessages(page).last()).toContainText("just");
  await expect(userMessages(page)).toHaveCount(1);
  answer();
  await expect(turnSummary(page)).toBeVisible();
  await expect(userMessages(page)).toHaveCount(1);
});

test("an interrupted turn is no failure, and its session costs what the server says", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, SLOW_ECHO), "Interrupted");
  await send(page, longText(3000, "finished"));
  await expect(agentMessages(page).last()).toContainText("word20");
  await page.getByText("Interrupt", { exact: true }).click();
  await send(page, "something else");
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  const usage = page
    .getByRole("complementary", { name: "Session details" })
    .locator("section")
    .last();
  const told = await usage.textContent();
  await page.reload();
  await expect(usage).toContainText("Turns2");
  expect(await usage.textContent()).toBe(told);

  await page.getByRole("link", { name: "Timeline" }).click();
  const turn = page.locator('[data-span="turn"]').first();
  await expect(turn.getByText("cancelled", { exact: false })).toHaveCount(1);
  await expect(page.locator('[data-span="model"]').first()).toHaveAttribute(
    "data-state",
    "interrupted",
  );
  await expect(turn.locator("[data-tick]").first()).toHaveText("0");
});

test("a slow page shows that it is on its way", async ({ page }) => {
  await signIn(page);
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/assets\/AgentsPage-.*\.js/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("link", { name: "Agents", exact: true }).first().click();
  await expect(page.getByRole("progressbar", { name: "Loading the page" })).toBeVisible();
  answer();
  await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  await expect(page.getByRole("progressbar")).toBeHidden();
});
