import {
  acceptAsNewcomer,
  anotherBrowser,
  createAgent,
  invite,
  newEmail,
  openNewSession,
  openOrgPage,
  PASSWORD,
  signIn,
} from "./steps";
import { expect, test } from "./test";

test("a member is invited in one browser, accepts in another, and is offered what a viewer may do", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default");
  await openNewSession(page, agentId, "Seen by a viewer");
  const session = page.url();
  const email = newEmail("vera");
  await openOrgPage(page, "Members");
  await page.getByRole("link", { name: "Invite a member" }).click();
  await page.getByLabel("Email").fill(email);
  await page.getByRole("dialog").getByLabel("Role").selectOption("VIEWER");
  await page.getByRole("button", { name: "Create link" }).click();
  const link = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
  expect(link).toContain("/invite?token=");
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.locator(`[data-invitation="${email}"]`)).toContainText("pending");
  await expect(page.getByText(link)).toHaveCount(0);

  const viewer = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(viewer, link, "Vera");
  const main = viewer.getByRole("navigation", { name: "Main" }).first();
  await expect(main.getByRole("link", { name: "Sessions" })).toBeVisible();
  await expect(main.getByRole("link", { name: "Approvals" })).toHaveCount(0);
  await expect(viewer.getByRole("link", { name: "New session" })).toHaveCount(0);

  await viewer.goto("/agents");
  await expect(viewer.getByRole("link", { name: /Helper/ }).first()).toBeVisible();
  await expect(viewer.getByRole("link", { name: "New agent" })).toHaveCount(0);
  await viewer.goto("/agents/new");
  await expect(viewer.getByText("You don't have access")).toBeVisible();
  await expect(viewer.getByLabel("System prompt")).toHaveCount(0);
  await viewer.goto(`/agents/${agentId}`);
  await expect(viewer.getByLabel("System prompt")).toBeDisabled();
  for (const name of ["Archive", "Save", "Add a client tool"]) {
    await expect(viewer.getByRole("button", { name, exact: true })).toHaveCount(0);
  }
  await viewer.goto("/harnesses");
  await expect(viewer.getByRole("link", { name: /Generic/ }).first()).toBeVisible();
  await expect(viewer.getByRole("link", { name: "New harness" })).toHaveCount(0);
  await viewer.goto("/models");
  await expect(viewer.getByRole("link", { name: /simulated/i }).first()).toBeVisible();
  await expect(viewer.getByRole("button", { name: "Add provider" })).toHaveCount(0);
  await viewer.goto("/sessions?new=");
  await expect(viewer.getByRole("dialog")).toContainText("You don't have access");

  await viewer.goto(session);
  await expect(viewer.getByText("No messages yet")).toBeVisible();
  await expect(viewer.getByText("Your role can read this session")).toBeVisible();
  await expect(viewer.getByRole("textbox", { name: "Message" })).toHaveCount(0);
  for (const name of ["Fork", "Change the title"]) {
    await expect(viewer.getByRole("button", { name, exact: true })).toHaveCount(0);
  }
  await viewer.keyboard.press("Control+k");
  await expect(viewer.getByRole("option", { name: "Sessions" })).toBeVisible();
  for (const name of ["New session", "New agent", "Audit log", "Approvals"]) {
    await expect(viewer.getByRole("option", { name, exact: true })).toHaveCount(0);
  }

  await viewer.goto("/organization");
  const tabs = viewer.getByRole("navigation", { name: "Organization" });
  await expect(tabs.getByRole("link")).toHaveText(["General", "Limits", "Your profile"]);
  await expect(viewer.getByLabel("Name", { exact: true })).toHaveCount(0);
  for (const path of ["members", "invitations", "api-keys", "webhooks", "audit"]) {
    await viewer.goto(`/organization/${path}`);
    await expect(viewer.getByText("You don't have access")).toBeVisible();
    await expect(viewer.getByText(/Your role \(viewer\) in .* can't/)).toBeVisible();
  }
  await viewer.context().close();

  await page.reload();
  await expect(page.locator(`[data-invitation="${email}"]`)).toContainText("accepted");
});

test("a change of role and a removal take effect in the open page", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-default"), "Open all the time");
  const session = page.url();
  const email = newEmail("max");
  const member = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(member, await invite(page, email, "MEMBER"), "Max");
  await member.goto(session);
  await expect(member.getByRole("textbox", { name: "Message" })).toBeVisible();

  await openOrgPage(page, "Members");
  const row = page.locator(`[data-member="${email}"]`);
  await row.getByLabel("Role of Max").selectOption("VIEWER");
  await expect(member.getByRole("textbox", { name: "Message" })).toHaveCount(0, {
    timeout: 15_000,
  });
  await expect(member.getByText("Your role can read this session")).toBeVisible();
  await expect(
    member.getByRole("navigation", { name: "Main" }).first().getByText("Approvals"),
  ).toHaveCount(0);

  await member.goto("/organization/members");
  await expect(member.getByText("You don't have access")).toBeVisible();
  await row.getByLabel("Role of Max").selectOption("MEMBER");
  await expect(row.getByLabel("Role of Max")).toBeEnabled();
  await member.getByRole("button", { name: "Check again" }).click();
  await expect(member.locator(`[data-member="${email}"]`)).toContainText("you");
  // A member sees who belongs to the organization, and changes nothing.
  await expect(member.getByRole("combobox")).toHaveCount(0);

  await member.goto(session);
  await expect(member.getByRole("textbox", { name: "Message" })).toBeVisible();
  await row.getByRole("button", { name: "Remove Max" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
  await expect(member).toHaveURL(/\/sign-in\?/, { timeout: 15_000 });
  await expect(member.getByText("are no longer a member")).toBeVisible();
  await member.context().close();
});

test("nobody is offered more than their own role, and the last owner stays", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const email = newEmail("ada");
  const admin = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(admin, await invite(page, email, "ADMIN"), "Ada");
  await openOrgPage(admin, "Members");
  const owner = admin.locator('[data-member="admin@example.com"]');
  await expect(owner).toContainText("above yours");
  await expect(owner.getByRole("combobox")).toHaveCount(0);
  await expect(owner.getByRole("button")).toHaveCount(0);
  const own = admin.locator(`[data-member="${email}"]`).getByRole("combobox");
  await expect(own.getByRole("option")).toHaveText(["Admin", "Member", "Viewer"]);
  await admin.goto("/organization/invitations?invite=true");
  await expect(admin.getByRole("dialog").getByRole("option")).toHaveText([
    "Admin",
    "Member",
    "Viewer",
  ]);

  await openOrgPage(page, "Members");
  await expect(page.locator('[data-member="admin@example.com"]')).toContainText("only owner");
  await expect(page.getByLabel(/^Role of /).first()).toBeVisible();

  // Whoever leaves is out at once.
  await openOrgPage(admin, "Members");
  await admin.getByRole("button", { name: "Leave organization" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await expect(admin).toHaveURL(/\/sign-in/);

  // Nobody who belongs nowhere can sign in, but the password is still the proof of who they are.
  const link = await invite(page, email, "VIEWER");
  await admin.goto(link);
  await admin.getByText("I have an account").click();
  await admin.getByLabel("Email").fill(email);
  await admin.getByLabel("Password").fill(PASSWORD);
  await admin.getByRole("button", { name: "Sign in and join" }).click();
  await expect(admin.getByRole("heading", { name: "Home", exact: true })).toBeVisible();
  await admin.context().close();
});

test("an invitation that can't be accepted says why", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const email = newEmail("eve");
  const link = await invite(page, email, "MEMBER");
  // The wrong person: it is for somebody who has no account yet.
  await page.goto(link);
  await expect(page.getByText("You are signed in as admin@example.com")).toBeVisible();
  await page.getByRole("button", { name: "Accept invitation" }).click();
  await expect(page.getByRole("alert")).toContainText("This invitation is not for");

  const eve = await anotherBrowser(browser, baseURL, complaints);
  await eve.goto("/invite");
  await expect(eve.getByRole("alert")).toContainText("incomplete");
  await eve.goto("/invite?token=made-up");
  await eve.getByLabel("Your name").fill("Eve");
  await eve.getByLabel("Password").fill(PASSWORD);
  await eve.getByRole("button", { name: "Create account and join" }).click();
  await expect(eve.getByRole("alert")).toContainText("not valid");

  await openOrgPage(page, "Invitations");
  await page.getByRole("button", { name: `Revoke the invitation for ${email}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.locator(`[data-invitation="${email}"]`)).toContainText("revoked");
  await eve.goto(link);
  await eve.getByLabel("Your name").fill("Eve");
  await eve.getByLabel("Password").fill("short");
  await eve.getByRole("button", { name: "Create account and join" }).click();
  await expect(eve.getByRole("alert")).toContainText("not valid");

  const second = await invite(page, email, "MEMBER");
  await eve.goto(second);
  await eve.getByLabel("Your name").fill("Eve");
  await eve.getByLabel("Password").fill("short");
  await eve.getByRole("button", { name: "Create account and join" }).click();
  await expect(eve.getByLabel("Password")).toHaveAttribute("aria-invalid", "true");
  await eve.getByLabel("Password").fill(PASSWORD);
  await eve.getByRole("button", { name: "Create account and join" }).click();
  await expect(eve.getByRole("heading", { name: "Home", exact: true })).toBeVisible();

  // It was good for one use.
  await eve.goto(second);
  await eve.getByRole("button", { name: "Accept invitation" }).click();
  await expect(eve.getByRole("alert")).toContainText("not valid");
  await eve.context().close();
});
