import { ADMIN } from "./ostler";
import { acceptAsNewcomer, anotherBrowser, invite, newEmail, signIn } from "./steps";
import { expect, test } from "./test";

test("a wrong password is refused where it was typed", async ({ page }) => {
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page).toHaveURL(/\/sign-in/);
});

test("signing in leads back to the page that was asked for, and signing out away", {
  tag: "@smoke",
}, async ({ page }) => {
  await page.goto("/agents?archived=true");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(/\/agents\?archived=true/);

  await page.getByRole("button", { name: /^Account of/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.goto("/sessions");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
});

test("the issuer is offered, and the page says why nobody came of it", async ({ page }) => {
  await page.goto("/sign-in?next=/agents");
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await expect(page.getByRole("alert")).toContainText("Example can't be reached");
  await expect(page).toHaveURL(/\/sign-in\?error=oidc_unavailable&next=%2Fagents$/);
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(/\/agents$/);
});

test("who has a password is sent to the issuer after it", async ({ page }) => {
  await page.goto("/sign-in?error=oidc_confirm&next=/agents");
  await expect(page.getByRole("alert")).toContainText("Sign in with it once");
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("Example can't be reached");
  await page.goto("/agents");
  await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
});

test("an invitation can be accepted at the issuer, and is not lost when that fails", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const link = await invite(page, newEmail("ines"), "MEMBER");
  const ines = await anotherBrowser(browser, baseURL, complaints);
  await ines.goto(link);
  const started = ines.waitForRequest(/\/auth\/oidc\/start/);
  await ines.getByRole("link", { name: "Accept with Example" }).click();
  const token = new URL(link, baseURL).searchParams.get("token");
  expect(new URL((await started).url()).searchParams.get("invitation")).toBe(token);
  await expect(ines.getByRole("alert")).toContainText("Example can't be reached");
  // The address doesn't have it: the tab does.
  await expect(ines).toHaveURL(/\/sign-in\?error=oidc_unavailable$/);
  await ines.getByRole("link", { name: "Back to the invitation" }).click();
  await expect(ines).toHaveURL(new RegExp(`/invite\\?token=${token}$`));
  await acceptAsNewcomer(ines, link, "Ines");
  // It is accepted: no later refusal leads to it.
  await ines.goto("/sign-in?error=oidc_declined");
  await expect(ines.getByRole("alert")).toContainText("cancelled at Example");
  await expect(ines.getByRole("link", { name: "Back to the invitation" })).toHaveCount(0);
  await ines.context().close();
});

test("an invitation goes on to the issuer after the password that it asks for once", async ({
  page,
}) => {
  await page.goto("/invite?token=opened");
  await page.getByRole("link", { name: "Accept with Example" }).click();
  await expect(page.getByRole("alert")).toContainText("Example can't be reached");
  // As if the issuer were up. What another site puts into the address is not what was opened here.
  await page.goto("/sign-in?error=oidc_confirm&invitation=foisted");
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  const started = page.waitForRequest(/\/auth\/oidc\/start/);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  expect(new URL((await started).url()).searchParams.get("invitation")).toBe("opened");
  await expect(page.getByRole("alert")).toContainText("Example can't be reached");
  // A sign-in for its own sake forgets it.
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await expect(page.getByRole("alert")).toContainText("Example can't be reached");
  await expect(page.getByRole("link", { name: "Back to the invitation" })).toHaveCount(0);
});

test("the page repeats nothing of its address", async ({ page }) => {
  await page.goto("/sign-in?error=%3Cb%3EYou%20are%20hacked%3C%2Fb%3E");
  await expect(page.getByRole("alert")).toContainText("failed. Try again.");
  await expect(page.getByText("hacked")).toHaveCount(0);
});

test("a forgotten password is replaced by a link that works once", async ({ page, ostler }) => {
  await page.goto("/sign-in");
  await page.getByRole("link", { name: "Forgot password?" }).click();
  await page.getByLabel("Email").fill("nobody@example.com");
  await page.getByRole("button", { name: "Send link" }).click();
  await expect(page.getByRole("status")).toContainText("If this email has an account");

  const link = /http\S+\/reset\?token=\S+/.exec(
    ostler.admin("reset-password", `--email=${ADMIN.email}`),
  )?.[0];
  expect(link).toBeDefined();
  await page.goto(link ?? "");
  await page.getByLabel("New password").fill("short");
  await page.getByRole("button", { name: "Set the password" }).click();
  await expect(page.getByLabel("New password")).toHaveAccessibleDescription(/./);
  // The same as before, for the tests that come after.
  await page.getByLabel("New password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Set the password" }).click();
  await expect(page.getByRole("status")).toContainText("Password changed.");

  await page.goto(link ?? "");
  await page.getByLabel("New password").fill("another long password");
  await page.getByRole("button", { name: "Set the password" }).click();
  await expect(page.getByRole("alert")).toContainText("already used");
  await signIn(page);
});

test("an access token that is gone is renewed without a word", async ({ page, context }) => {
  await signIn(page);
  await context.clearCookies({ name: "ostler_access" });
  await page.goto("/agents");
  await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
  await expect(page.getByRole("searchbox")).toBeVisible();
  await expect(page).toHaveURL(/\/agents$/);
});

test("the theme can be chosen, and is kept", async ({ page }) => {
  await signIn(page);
  await page.getByRole("button", { name: /^Account of/ }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
