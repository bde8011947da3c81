import { readFileSync } from "node:fs";
import {
  acceptAsNewcomer,
  anotherBrowser,
  createAgent,
  invite,
  newEmail,
  openOrgPage,
  PASSWORD,
  requestAsPage,
  signIn,
} from "./steps";
import { expect, test } from "./test";

test("an API key is created, used, and revoked; the audit log tells of it and is intact", async ({
  page,
  baseURL,
  playwright,
}) => {
  await signIn(page);
  await openOrgPage(page, "API keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  const name = `CI ${Date.now().toString(36)}`;
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(name);
  await expect(dialog.getByRole("checkbox", { name: /CATALOG_READ/ })).toBeDisabled();
  await expect(dialog.getByRole("checkbox", { name: /CATALOG_READ/ })).toBeChecked();
  await expect(dialog.getByRole("checkbox", { name: /PLATFORM/ })).toHaveCount(0);
  await dialog.getByRole("checkbox", { name: /SESSIONS_WRITE/ }).uncheck();
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = (await dialog.locator("pre").first().textContent()) ?? "";
  expect(key).toMatch(/^ost_/);
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.locator(`[data-key="${name}"]`);
  await expect(row).toContainText("never used");
  await expect(row).toContainText("SESSIONS_READ");
  await expect(page.getByText(key)).toHaveCount(0);

  const program = await playwright.request.newContext({
    ...(baseURL ? { baseURL } : {}),
    extraHTTPHeaders: { authorization: `Bearer ${key}` },
  });
  const ask = async () =>
    (await (
      await program.post("/graphql", { data: { query: "{ viewer { permissions } }" } })
    ).json()) as { data: { viewer: { permissions: string[] } } | null; errors?: unknown };
  expect((await ask()).data?.viewer.permissions).toEqual([
    "ORG_READ",
    "CATALOG_READ",
    "SESSIONS_READ",
  ]);
  await expect(async () => {
    await page.reload();
    await expect(row).toContainText("last used", { timeout: 1000 });
  }).toPass();

  await row.getByRole("button", { name: `Revoke ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row).toContainText("revoked");
  expect((await ask()).errors).toBeDefined();
  await program.dispose();

  await openOrgPage(page, "Audit log");
  const entries = page.getByRole("list", { name: "Audit entries" });
  await page.getByLabel("Action").selectOption("apiKey.created");
  await expect(page).toHaveURL(/action=apiKey\.created/);
  const created = entries.getByRole("listitem").first();
  await created.locator("summary").click();
  await expect(created.getByRole("row", { name: /^name/ })).toContainText(name);
  await created.getByRole("button", { name: "Only this target" }).click();
  await expect(page).toHaveURL(/target=key_/);
  await page.getByLabel("Action").selectOption("");
  await expect(page).not.toHaveURL(/action=/);
  await expect(entries.locator("> li")).toHaveCount(2);
  await expect(entries.locator("> li").first()).toContainText("API key revoked");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  const lines = readFileSync(await (await download).path(), "utf8")
    .trimEnd()
    .split("\r\n");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain("apiKey.revoked");
  // What stands in the address is what a reload shows.
  await page.reload();
  await expect(entries.locator("> li")).toHaveCount(2);
  await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
  await expect(page.getByText("No entries match")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("Actor").selectOption({ label: "Administrator (admin@example.com)" });
  await expect(page).toHaveURL(/actor=user_/);
  await expect(entries.locator('[data-action="signin.succeeded"]').first()).toBeVisible();

  await page.getByRole("button", { name: "Verify log" }).click();
  await expect(page.getByRole("dialog")).toContainText("The log is intact.");
});

test("the organization's name and defaults are changed", async ({ page }) => {
  await signIn(page);
  await openOrgPage(page, "General");
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await page.getByLabel("Name", { exact: true }).fill("Acme");
  await page.getByLabel("Default harness").selectOption({ label: "Base" });
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("[data-toast]")).toHaveText("Saved");
  await expect(page.getByRole("button", { name: "Organization Acme, switch" })).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Acme");
  await page.getByLabel("Default harness").selectOption({ label: "None" });
  await page.getByLabel("Name", { exact: true }).fill("Default");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("[data-toast]")).toHaveText("Saved");
});

test("a person changes their name, and ends a sign-in of theirs", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const email = newEmail("pia");
  const pia = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(pia, await invite(page, email, "VIEWER"), "Pia");
  const elsewhere = await anotherBrowser(browser, baseURL, complaints);
  await elsewhere.goto("/sign-in");
  await elsewhere.getByLabel("Email").fill(email);
  await elsewhere.getByLabel("Password").fill(PASSWORD);
  await elsewhere.getByRole("button", { name: "Sign in" }).click();
  await expect(elsewhere.getByRole("heading", { name: "Home", exact: true })).toBeVisible();

  await pia.getByRole("button", { name: /^Account of/ }).click();
  await pia.getByRole("menuitem", { name: "Your profile" }).click();
  await pia.getByLabel("Name", { exact: true }).fill("Pia Pi");
  await pia.getByRole("button", { name: "Save" }).click();
  await expect(pia.getByRole("button", { name: /^Account of/ })).toContainText("Pia Pi");
  const signIns = pia.getByRole("list", { name: "Signed-in devices" });
  await expect(signIns.getByRole("listitem")).toHaveCount(2);
  await expect(signIns.locator("[data-current]")).toContainText("this device");
  await signIns.getByRole("button", { name: /^Sign out / }).click();
  await expect(signIns.getByRole("listitem")).toHaveCount(1);
  await expect(elsewhere).toHaveURL(/\/sign-in\?.*ended/, { timeout: 15_000 });
  await pia.context().close();
  await elsewhere.context().close();
});

test("another organization is made and switched to; nothing of the first stays, in no tab", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  await createAgent(page, "sim-default", { displayName: "Secret of the first" });
  const tab = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(tab, await invite(page, newEmail("olga"), "ADMIN"), "Olga");
  const second = await tab.context().newPage();
  await second.goto("/agents");
  await expect(second.getByText("Secret of the first").first()).toBeVisible();
  await second.goto("/agents/new");
  await second.getByLabel("System prompt").fill("A draft of the first");
  await second.goto("/agents");
  await expect(second.getByText("Secret of the first").first()).toBeVisible();

  await tab.goto("/agents");
  await expect(tab.getByText("Secret of the first").first()).toBeVisible();
  await tab.getByRole("button", { name: "Organization Default, switch" }).click();
  await tab.getByRole("menuitem", { name: "New organization…" }).click();
  const name = `Second ${Date.now().toString(36)}`;
  await tab.getByLabel("Name", { exact: true }).fill(name);
  await tab.getByRole("button", { name: "Create organization" }).click();
  await expect(tab.getByRole("button", { name: `Organization ${name}, switch` })).toBeVisible();
  await expect(tab).toHaveURL(/\/$/);
  await expect(tab.getByText(`Welcome to ${name}`)).toBeVisible();
  await tab.getByRole("link", { name: "Agents" }).first().click();
  // The only one is its own, which it began with.
  await expect(tab.getByRole("main").getByRole("link", { name: /Demo/ })).toHaveCount(1);
  await expect(tab.getByText("Secret of the first")).toHaveCount(0);

  // The other tab shares the cookies, and shows neither a mix nor what was.
  await expect(second.getByText(`You are in ${name} now`)).toBeVisible();
  await expect(second.getByText("Secret of the first")).toHaveCount(0);
  await expect(second.getByRole("navigation", { name: "Main" })).toHaveCount(0);
  await second.getByRole("button", { name: `Continue in ${name}` }).click();
  await expect(second.getByText(`Welcome to ${name}`)).toBeVisible();
  await second.goto("/agents/new");
  await expect(second.getByLabel("System prompt")).toHaveValue("");

  // Now the other way round, and back from where it was noticed.
  await second.getByRole("button", { name: `Organization ${name}, switch` }).click();
  await second.getByRole("menuitem", { name: "Default" }).click();
  await expect(second.getByRole("button", { name: "Organization Default, switch" })).toBeVisible();
  await expect(tab.getByText("You are in Default now")).toBeVisible();
  await tab.getByRole("button", { name: `Back to ${name}` }).click();
  await expect(tab.getByRole("main").getByRole("link", { name: /Demo/ })).toHaveCount(1);
  await expect(second.getByText(`You are in ${name} now`)).toBeVisible();
  const { viewer } = await requestAsPage<{ viewer: { org: { name: string } } }>(tab, "Viewer");
  expect(viewer.org.name).toBe(name);
  await tab.context().close();
});

test("a tab that was signed in as someone else shows nothing of them", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const link = await invite(page, newEmail("uma"), "VIEWER");
  const tab = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(tab, await invite(page, newEmail("tim"), "ADMIN"), "Tim");
  const second = await tab.context().newPage();
  await second.goto("/organization/api-keys");
  await expect(second.getByRole("button", { name: "New key" }).first()).toBeVisible();
  await tab.goto(link);
  await tab.getByRole("button", { name: "Use another account" }).click();
  await tab.getByLabel("Your name").fill("Uma");
  await tab.getByLabel("Password").fill(PASSWORD);
  await tab.getByRole("button", { name: "Create account and join" }).click();
  await expect(tab.getByRole("heading", { name: "Home", exact: true })).toBeVisible();
  await expect(second.getByText("You are signed in as Uma now")).toBeVisible();
  await expect(second.getByRole("button", { name: "New key" })).toHaveCount(0);
  await tab.context().close();
});

test("a change that no other tab has told of is noticed when the reader comes back", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  await createAgent(page, "sim-default", { displayName: "Known before" });
  const tab = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(tab, await invite(page, newEmail("finn"), "ADMIN"), "Finn");
  const name = `Silent ${Date.now().toString(36)}`;
  const { createOrg } = await requestAsPage<{ createOrg: { org: { id: string } } }>(
    tab,
    "CreateOrg",
    { input: { name } },
  );
  await tab.goto("/agents");
  await expect(tab.getByText("Known before").first()).toBeVisible();
  await requestAsPage(tab, "SwitchOrg", { orgId: createOrg.org.id });
  await tab.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect(tab.getByText(`You are in ${name} now`)).toBeVisible();
  await expect(tab.getByText("Known before")).toHaveCount(0);
  await tab.getByRole("button", { name: "Back to Default" }).click();
  await expect(tab.getByText("Known before").first()).toBeVisible();
  await tab.context().close();
});
