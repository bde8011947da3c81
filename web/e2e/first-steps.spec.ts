import { Ostler } from "./ostler";
import { agentMessages, signIn, toolCard, turnSummary } from "./steps";
import { test as base, expect } from "./test";

// The server that a worker's tests share has what these steps ask for.
const test = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures off this pattern.
  baseURL: async ({}, use) => {
    const fresh = await Ostler.start();
    await use(fresh.url);
    await fresh.remove();
  },
});

test("the first steps are links by their whole rows", async ({ page }) => {
  await signIn(page);
  const box = await page.getByRole("link", { name: "Create an agent" }).boundingBox();
  if (!box) throw new Error("there is no row");
  await page.mouse.click(box.x + 6, box.y + 6);
  await expect(page).toHaveURL(/\/agents\/new$/);
  await expect(page).toHaveTitle("New agent · Agents · Ostler");
});

test("a newcomer has a streaming answer that uses a tool within a minute of signing in", async ({
  page,
}) => {
  test.setTimeout(60_000);
  let deltas = 0;
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      if (payload.includes("OutputDelta")) deltas += 1;
    }),
  );
  await signIn(page);
  await page.getByRole("link", { name: "Start a session" }).click();
  await expect(page.getByRole("radio", { name: /^Demo/ })).toBeChecked();
  await page.getByRole("button", { name: "Start session" }).click();
  await expect(page.getByRole("textbox", { name: "Message" })).toBeFocused();
  const samples = page.getByRole("list", { name: "Sample messages" }).getByRole("button");
  await expect(samples).toHaveCount(4);
  await samples.filter({ hasText: "read it back" }).click();
  await expect(toolCard(page, "write_file")).toBeVisible();
  await expect(toolCard(page, "read_file")).toBeVisible();
  await expect(agentMessages(page).last()).toContainText("hello world");
  await expect(turnSummary(page)).toBeVisible();
  expect(deltas).toBeGreaterThan(1);
  const title = "Write hello world to notes.txt and then read it back";
  await expect(page.getByRole("heading", { name: title, exact: true })).toBeVisible();
  await expect(samples).toHaveCount(0);

  // What was done is ticked, and the rest can be put away for good.
  await page.getByRole("link", { name: "Home" }).click();
  const steps = page.getByRole("region", { name: "Get started" });
  await expect(steps).toContainText("1 of 4 done");
  await expect(steps.getByRole("link", { name: /^Start a session\s*Done\./ })).toBeVisible();
  await steps.getByRole("button", { name: "Dismiss" }).click();
  await expect(steps).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("region", { name: "Recent sessions" })).toContainText(title);
  await expect(steps).toHaveCount(0);
});
