import {
  agentMessages,
  approvals,
  cancelOpenTurns,
  createAgent,
  longText,
  openNewSession,
  SLOW_ECHO,
  scriptedError,
  send,
  signIn,
  WRITE_NOTES,
} from "./steps";
import { expect, test } from "./test";

test.describe("the home page", () => {
  test.use({ serverGoesAway: true });

  test("follows turns, failures and new sessions live, and goes on after an outage", async ({
    page,
    context,
    ostler,
  }) => {
    await signIn(page);
    const other = await context.newPage();
    await openNewSession(other, await createAgent(page, SLOW_ECHO), "Long work");
    await expect(page.getByRole("region", { name: "Recent sessions" })).toContainText("Long work");

    await send(other, longText(150, "finished"));
    const working = page.getByRole("region", { name: /^Active now/ });
    await expect(working).toContainText("Long work");
    await expect(agentMessages(other).last()).toContainText("finished", { timeout: 20_000 });
    await expect(working).toContainText("No active turns.");

    await ostler.stop();
    await expect(page.getByText(/Reconnecting – data as of/)).toBeVisible();
    await ostler.run();
    await expect(page.getByText(/Reconnecting/)).toBeHidden({ timeout: 20_000 });

    await openNewSession(other, await createAgent(page, "sim-script"), "Broken");
    await send(other, scriptedError({ status: 401 }));
    const failures = page.getByRole("region", { name: /^Failed or stopped/ });
    await expect(failures).toContainText("provider_misconfigured", { timeout: 20_000 });
    await failures.getByRole("link", { name: /Broken/ }).click();
    await expect(page.getByRole("link", { name: "Provider settings" }).first()).toBeVisible();
  });
});

test("the list of sessions follows live", async ({ page, context }) => {
  await signIn(page);
  await page.goto("/sessions");
  const other = await context.newPage();
  await openNewSession(other, await createAgent(page, SLOW_ECHO), "Seen from afar");
  const row = page.getByRole("row", { name: /Seen from afar/ });
  await expect(row).toContainText("New");
  await send(other, longText(100, "finished"));
  await expect(row).toContainText("Working");
  await expect(row).toContainText("Idle", { timeout: 20_000 });
});

test.describe("the figures of the home page", () => {
  test.afterEach(({ page }) => cancelOpenTurns(page));

  test("tell live what waits, how turns went, and which agents fail", async ({ page, context }) => {
    await signIn(page);
    const other = await context.newPage();
    const name = `Flaky ${Date.now().toString(36)}`;
    const flaky = await createAgent(page, "sim-script", { displayName: name });
    await openNewSession(other, flaky, "Broken");
    await page.goto("/");
    const figure = (of: string) => page.locator(`[data-figure="${of}"]`);
    const failures = figure("error-rate").getByRole("link");
    await expect(failures).toBeVisible();
    const before = parseInt(await failures.innerText(), 10);
    await send(other, scriptedError({ status: 401 }));
    await expect(failures).toHaveText(`${before + 1} failed or stopped`, { timeout: 20_000 });
    await expect(figure("error-rate")).toContainText("%");
    await expect(
      page.getByRole("region", { name: "Top agents by failures" }).getByRole("listitem"),
    ).not.toHaveCount(0);

    await openNewSession(other, await createAgent(page, "sim-default", approvals()), "Careful");
    await send(other, WRITE_NOTES);
    const forYou = page.getByRole("region", { name: /^Waiting for you/ });
    await expect(forYou).toContainText("Approve write_file?");
    await other.getByRole("button", { name: "Approve", exact: true }).click();
    await expect(forYou.getByText("Careful")).toHaveCount(0);
    await expect(figure("duration")).toContainText(/p95 .*s/);
    await expect(figure("first-token")).toContainText(/p95 .*s/);
    await expect(figure("spend")).toContainText("$");
    await expect(page.getByRole("region", { name: "Top agents by cost" })).toContainText("Helper");

    await page.getByRole("button", { name: "7 days" }).click();
    await expect(page).toHaveURL(/range=7d/);
    await expect(page.getByRole("img", { name: /^Turns per hour/ })).toBeVisible();
    await failures.click();
    await expect(page.getByRole("heading", { name: "Failures", exact: true })).toBeVisible();
  });

  test("come in one request, made again once the events are followed", async ({ page }) => {
    await signIn(page);
    await expect(page.getByRole("heading", { name: "Home", exact: true })).toBeVisible();
    const asked: string[] = [];
    page.on("request", (request) => {
      const body = request.method() === "POST" ? request.postDataJSON() : null;
      if (body?.operationName) asked.push(body.operationName);
    });
    await page.goto("/");
    await expect(page.getByRole("region", { name: "Turns", exact: true })).toBeVisible();
    // The frame asks who is looking, and how much waits.
    const own = () => asked.filter((each) => !["Viewer", "WaitCount"].includes(each));
    // What happened between the first reading and the first event would be missed.
    await expect.poll(own).toEqual(["Home", "Home"]);
    await page.waitForLoadState("networkidle");
    expect(own()).toEqual(["Home", "Home"]);
  });
});
