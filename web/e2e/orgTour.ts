import { type Browser, expect, type Page } from "@playwright/test";
import { Receiver } from "./receiver";
import {
  acceptAsNewcomer,
  anotherBrowser,
  createAgent,
  invite,
  newEmail,
  openNewSession,
  PASSWORD,
  request,
  send,
  signIn,
  turnSummary,
} from "./steps";

/** Gives the organization a member, an invitation that is open, one that is revoked, and two API keys. */
export async function furnishOrg(page: Page): Promise<void> {
  const token = (await invite(page, newEmail("ada"), "ADMIN")).split("=")[1];
  await request(
    page,
    "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { userErrors { message } } }",
    { input: { token, name: "Ada Lovelace", password: PASSWORD } },
  );
  await invite(page, newEmail("grace"), "MEMBER");
  const { inviteMember } = await request<{ inviteMember: { invitation: { id: string } } }>(
    page,
    "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { invitation { id } } }",
    { input: { email: newEmail("mallory"), role: "VIEWER" } },
  );
  await request(
    page,
    "mutation ($id: ID!) { revokeInvitation(id: $id) { userErrors { message } } }",
    { id: inviteMember.invitation.id },
  );
  const create =
    "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }";
  const { createApiKey } = await request<{ createApiKey: { apiKey: { id: string } } }>(
    page,
    create,
    { input: { name: "Nightly import", permissions: ["ORG_READ", "CATALOG_WRITE"] } },
  );
  await request(page, "mutation ($id: ID!) { revokeApiKey(id: $id) { userErrors { message } } }", {
    id: createApiKey.apiKey.id,
  });
  await request(page, create, {
    input: {
      name: "Support desk",
      permissions: ["ORG_READ", "SESSIONS_READ", "SESSIONS_WRITE"],
      expiresAt: new Date(Date.now() + 90 * 24 * 60 * 60 * 1000).toISOString(),
    },
  });
}

/** Opens each page and each dialog of the organization, and of who is invited, one after the other. */
export async function tourOfOrg(page: Page, look: (name: string) => Promise<void>): Promise<void> {
  const open = async (path: string, sign: string | RegExp) => {
    await page.goto(path);
    await expect(page.getByText(sign).first()).toBeVisible();
  };
  await open("/invite", "incomplete");
  await look("invite-incomplete");
  await open("/invite?token=x", "I'm new here");
  await look("invite");
  await page.getByText("I have an account").click();
  await look("invite-known");
  await signIn(page);
  await furnishOrg(page);
  await open("/invite?token=x", "You are signed in as");
  await look("invite-signed-in");
  await open("/organization", "Default harness");
  await look("org-general");
  await open("/organization/members", "Ada Lovelace");
  await look("org-members");
  await page.getByRole("button", { name: "Remove Ada Lovelace" }).first().click();
  await look("org-remove-member");
  await open("/organization/invitations", "revoked");
  await look("org-invitations");
  await open("/organization/invitations?invite=true", "Create link");
  await look("org-invite");
  await page.getByLabel("Email").fill(newEmail("joan"));
  await page.getByRole("button", { name: "Create link" }).click();
  await expect(page.getByText("Share this link")).toBeVisible();
  await look("org-invited");
  await open("/organization/api-keys", "Support desk");
  await look("org-api-keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await look("org-new-key");
  await page.getByRole("dialog").getByLabel("Name").fill("Shown once");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("only once")).toBeVisible();
  await look("org-key-created");
  await open("/organization/limits", "Concurrent turns");
  await expect(page.getByText(/Now: \d/).first()).toBeVisible();
  await look("org-limits");
  await page.getByLabel("API keys").fill("many");
  await look("org-limits-refused");
  await tourOfWebhooks(page, look);
  await open("/organization/audit", "API key created");
  await look("org-audit");
  await page.locator('[data-action="apiKey.created"] summary').first().click();
  await look("org-audit-entry");
  await page.getByRole("button", { name: "Verify log" }).click();
  await expect(page.getByText("The log is intact.")).toBeVisible();
  await look("org-audit-check");
  await open("/organization/audit?action=none", "No entries match");
  await look("org-audit-empty");
  await open("/organization/profile", "Signed-in devices");
  await look("org-profile");
  await page.getByRole("button", { name: /^Organization .*, switch$/ }).click();
  await expect(page.getByRole("menuitem", { name: "New organization…" })).toBeVisible();
  await look("org-menu");
  await page.getByRole("menuitem", { name: "New organization…" }).click();
  await expect(page.getByRole("button", { name: "Create organization" })).toBeVisible();
  await look("org-new");
}

async function tourOfWebhooks(page: Page, look: (name: string) => Promise<void>): Promise<void> {
  const receiver = await Receiver.start();
  try {
    await page.goto("/organization/webhooks");
    await expect(page.getByText("No webhooks yet")).toBeVisible();
    await look("org-webhooks-empty");
    await page.getByRole("button", { name: "New webhook" }).click();
    await look("org-new-webhook");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("URL").fill(receiver.url);
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    await expect(dialog.getByText("only once")).toBeVisible();
    await look("org-webhook-secret");
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.locator(`[data-webhook="${receiver.url}"]`);
    await row.getByRole("button", { name: "Deliveries" }).click();
    await expect(row.getByText("No deliveries")).toBeVisible();
    const address = page.url();
    const helper = await createAgent(page, "sim-default");
    for (const status of [500, 204]) {
      receiver.status = status;
      const before = receiver.heard.length;
      await openNewSession(page, helper, "Told of");
      await send(page, "Hello");
      await expect(turnSummary(page)).toBeVisible();
      await expect.poll(() => receiver.heard.length).toBeGreaterThan(before);
    }
    await page.goto(address);
    await expect(row.getByText("HTTP 204")).toBeVisible();
    await expect(row.getByText("HTTP 500")).toBeVisible();
    await look("org-webhooks");
    await row.getByRole("button", { name: "Disable" }).click();
    await expect(row.getByText(/by Administrator\./)).toBeVisible();
    await look("org-webhook-disabled");
    await row.getByRole("button", { name: "Delete" }).click();
    await look("org-delete-webhook");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(row).toHaveCount(0);
  } finally {
    receiver.stop();
  }
}

/** The same for somebody who may only look, and for a tab that another one has left behind. */
export async function tourAsViewer(
  page: Page,
  browser: Browser,
  baseURL: string | undefined,
  complaints: string[],
  look: (name: string, page: Page) => Promise<void>,
): Promise<void> {
  await signIn(page);
  const link = await invite(page, newEmail("vera"), "VIEWER");
  const viewer = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(viewer, link, "Vera");
  await look("viewer-home", viewer);
  for (const [name, path, sign] of [
    ["viewer-agents", "/agents", "Agents"],
    ["viewer-org", "/organization", "Owners can change these"],
    ["viewer-limits", "/organization/limits", "Operators of this server"],
    ["viewer-not-allowed", "/organization/members", "You don't have access"],
    ["viewer-no-new-session", "/sessions?new=", "You don't have access"],
  ] as const) {
    await viewer.goto(path);
    await expect(viewer.getByText(sign).first()).toBeVisible();
    await look(name, viewer);
  }
  // A slug is made of the name, and has to be new.
  const own = `Vera's ${Date.now().toString(36)}`;
  const second = await viewer.context().newPage();
  await second.goto("/organization");
  await second.getByRole("button", { name: /^Organization .*, switch$/ }).click();
  await second.getByRole("menuitem", { name: "New organization…" }).click();
  await second.getByLabel("Name", { exact: true }).fill(own);
  await second.getByRole("button", { name: "Create organization" }).click();
  await expect(viewer.getByText(`You are in ${own} now`)).toBeVisible();
  await look("org-changed", viewer);
  await viewer.goto("/invite?token=x");
  await viewer.getByRole("button", { name: "Use another account" }).click();
  await viewer.getByRole("link", { name: "Accept with Example" }).click();
  await expect(viewer.getByRole("link", { name: "Back to the invitation" })).toBeVisible();
  await look("sign-in-back-to-invitation", viewer);
  await viewer.goto("/sign-in?ended=true");
  await expect(viewer.getByText("You were signed out")).toBeVisible();
  await look("sign-in-ended", viewer);
  await viewer.context().close();
}
