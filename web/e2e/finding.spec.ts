import {
  createAgent,
  openNewSession,
  request,
  scriptedError,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

test("an old session is found by its words and by its id, in the list and in the palette", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await openNewSession(page, agent, "Refund for order #1000");
  await expect(page).toHaveTitle("Refund for order #1000 · Sessions · Ostler");
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  for (let each = 0; each < 60; each++) {
    await request(
      page,
      "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } } }",
      { input: { agentId: agent, title: `Newer ${each}` } },
    );
  }
  await page.goto("/sessions");
  const found = page.getByRole("link", { name: /Refund for order #1000/ });
  await expect(page.getByRole("link", { name: /Newer 59/ })).toBeVisible();
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("ref 1000");
  await expect(found).toBeVisible();
  await expect(page.getByRole("link", { name: /Newer/ })).toHaveCount(0);
  await expect(page).toHaveURL(/q=ref/);

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill(id);
  await page.getByRole("option", { name: /Refund for order #1000/ }).click();
  await expect(page).toHaveURL(new RegExp(`/sessions/${id}`));
});

test("a failed turn is marked in the list, and found by a filter", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script"), "It broke");
  await send(page, scriptedError({ status: 401 }));
  await expect(page.getByRole("alert")).toBeVisible();
  await openNewSession(page, await createAgent(page, "sim-default"), "It went well");
  await page.goto("/sessions");
  await expect(page.getByRole("row", { name: /It broke/ })).toContainText("Failed");
  await page.getByRole("button", { name: "Failed" }).click();
  await expect(page.getByRole("link", { name: /It broke/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /It went well/ })).toHaveCount(0);
  await page.goto("/");
  await page.locator("a[href*=failed]", { hasText: "View all" }).click();
  await expect(page).toHaveURL(/failed=true/);
});

test("a session is found by a word of a message, in the list and in the palette", async ({
  page,
}) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  await openNewSession(page, agent, "Nothing of it in the title");
  await send(page, "Where is my marzipan?");
  await expect(turnSummary(page)).toBeVisible();
  // Messages are indexed behind the turns.
  const found = () =>
    request<{ sessions: { nodes: unknown[] } }>(
      page,
      'query { sessions(filter: { search: "marzipan" }) { nodes { id } } }',
      {},
    );
  await expect.poll(async () => (await found()).sessions.nodes.length).toBe(1);
  await page.goto("/sessions?q=marzipan");
  await expect(page.getByRole("link", { name: /Nothing of it/ })).toBeVisible();
  // The row shows the place, and leads to it.
  await expect(page.locator("mark")).toHaveText("marzipan");
  await page.getByRole("link", { name: "Where is my marzipan?" }).click();
  await expect(page).toHaveURL(/message=msg_/);
  await expect(page.locator("[data-linked]")).toContainText("Where is my marzipan?");
  await page.goto("/sessions");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("marzipan");
  await expect(page.getByRole("option", { name: /Nothing of it/ })).toContainText("my marzipan?");
  await page.getByRole("option", { name: /Nothing of it/ }).click();
  await expect(page.locator("[data-linked]")).toContainText("Where is my marzipan?");
});

test("the list of sessions is sorted, narrowed, and saved as a view", async ({ page }) => {
  await signIn(page);
  const agent = await createAgent(page, "sim-default");
  for (const title of ["Talked to", "Left alone"]) {
    await openNewSession(page, agent, title);
    if (title === "Left alone") continue;
    await send(page, "Good morning");
    await expect(turnSummary(page)).toBeVisible();
  }
  const rows = page.getByRole("rowheader").filter({ hasText: /Talked to|Left alone/ });
  // What the list is sorted by is written behind the turns.
  await expect
    .poll(async () => {
      await page.goto(`/sessions?agent=${agent}`);
      await expect(rows).toHaveCount(2);
      return rows.allTextContents();
    })
    .toEqual([expect.stringMatching(/^Left alone/), expect.stringMatching(/^Talked to.+/)]);
  const table = page.getByRole("table", { name: "Sessions" });
  await expect(table.getByRole("columnheader", { name: "Created" })).toHaveAttribute(
    "aria-sort",
    "descending",
  );
  await table.getByRole("button", { name: "Last turn" }).click();
  await expect(page).toHaveURL(/sort=duration/);
  await expect(rows.first()).toContainText("Talked to");
  await expect(table.getByRole("columnheader", { name: "Last turn" })).toHaveAttribute(
    "aria-sort",
    "descending",
  );
  await table.getByRole("button", { name: "Last turn" }).click();
  await expect(rows.first()).toContainText("Left alone");

  // What is no amount is marked, and counts for nothing.
  const cost = page.getByLabel("Cost to, $");
  await cost.fill("1,5");
  await expect(cost).toHaveAttribute("aria-invalid", "true");
  await cost.fill("1.5");
  await expect(page).toHaveURL(/costTo=/);
  await expect(rows).toHaveCount(2);
  await cost.fill("");
  await expect(page).not.toHaveURL(/costTo=/);

  await page.getByRole("combobox", { name: "Last turn" }).selectOption("Completed");
  await expect(rows).toHaveCount(1);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitem", { name: /^Customer/ }).click();
  await expect(table.getByRole("columnheader", { name: "Customer" })).toBeVisible();

  await page.getByRole("button", { name: "Save view" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Done by this one");
  await page.getByRole("dialog").getByLabel("Open by default").check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const view = page.getByRole("button", { name: "Done by this one", exact: true });
  await expect(view).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "All sessions" }).click();
  await expect(view).toHaveAttribute("aria-pressed", "false");
  // They are still all after a look at one of them.
  await rows.first().getByRole("link").first().click();
  await expect(page.getByRole("log", { name: "Conversation" })).toBeVisible();
  await page.goBack();
  await expect(rows).toHaveCount(2);
  await expect(view).toHaveAttribute("aria-pressed", "false");
  // Whoever comes to the list begins with it, from any browser.
  await page.goto("/sessions");
  await expect(view).toHaveAttribute("aria-pressed", "true");
  await expect(rows).toHaveText([/Talked to/]);
  await page.getByRole("button", { name: "Options of Done by this one" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await expect(view).toHaveCount(0);
});

test("tags of a session are changed, and lead to all that have them", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default"), "To be tagged");
  await page.getByRole("button", { name: "Add tags" }).first().click();
  await page.getByRole("dialog").getByLabel("Tags").fill("billing\nvery urgent");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("link", { name: "very urgent" }).first().click();
  await expect(page).toHaveURL(/tag=very/);
  await expect(page.getByRole("link", { name: "To be tagged" })).toBeVisible();
});

test("a failed turn is found in three clicks, by what went wrong", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-script"), "Key is wrong");
  await send(page, scriptedError({ status: 401 }));
  await expect(page.getByRole("alert")).toBeVisible();
  await page.goto("/");
  await page.getByRole("link", { name: "Failures", exact: true }).click();
  await page.getByRole("link", { name: "Provider misconfigured" }).click();
  await expect(page).toHaveURL(/code=provider_misconfigured/);
  const turns = page.getByRole("table", { name: "Failed turns" });
  await turns.getByRole("link", { name: "Key is wrong" }).first().click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.goto("/failures?code=provider_rate_limited&range=24h");
  await expect(page.getByText("No failures in this period")).toBeVisible();
});

test("an error in a long dialog comes into sight with its field", async ({ page }) => {
  await signIn(page);
  await page.setViewportSize({ width: 1280, height: 500 });
  await page.goto("/organization/webhooks");
  await page.getByRole("button", { name: "New webhook" }).click();
  const url = page.getByLabel("URL");
  await url.fill("ftp://example.com/hook");
  const create = page.getByRole("button", { name: "Create webhook" });
  // It stays in sight, however long the form is.
  await expect(create).toBeInViewport();
  await page
    .getByRole("dialog")
    .locator("[data-dialog-body]")
    .evaluate((body) => {
      body.scrollTop = body.scrollHeight;
    });
  await create.click();
  await expect(url).toHaveAttribute("aria-invalid", "true");
  await expect(url).toBeFocused();
  await expect(url).toBeInViewport();
});
