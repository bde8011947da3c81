import {
  acceptAsNewcomer,
  anotherBrowser,
  createAgent,
  invite,
  newEmail,
  openOrgPage,
  request,
  signIn,
} from "./steps";
import { expect, test } from "./test";

test("an operator changes limits, and puts the default back; others see them", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  await createAgent(page, "sim-default");
  await openOrgPage(page, "Limits");
  const keys = page.getByLabel("API keys");
  await expect(keys).toHaveValue("500");
  await expect(page.getByLabel("Agents")).toHaveAccessibleDescription(/Now: [1-9]\d*\.$/);
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();

  // The server says what it refuses, at its field, and changes nothing else either.
  await keys.fill("2000000000");
  await page.getByLabel("WebSockets").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(keys).toHaveAccessibleDescription(/The limit apiKeys can.t be 2000000000/);
  await expect(page.getByLabel("WebSockets")).toHaveAccessibleDescription(/^Open at once/);
  await keys.fill("many");
  await expect(keys).toHaveAccessibleDescription(/whole number/);
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();

  await keys.fill("0");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("[data-toast]")).toHaveText("Saved");
  await page.reload();
  await expect(keys).toHaveValue("0");
  await expect(page.getByLabel("WebSockets")).toHaveValue("7");

  const viewer = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(viewer, await invite(page, newEmail("lena"), "ADMIN"), "Lena");
  await openOrgPage(viewer, "Limits");
  await expect(viewer.getByText("Operators of this server can change these.")).toBeVisible();
  await expect(viewer.getByText("unlimited").first()).toBeVisible();
  await expect(viewer.getByRole("textbox")).toHaveCount(0);
  // On this server everybody may create organizations.
  await viewer.getByRole("button", { name: /^Organization .*, switch$/ }).click();
  await expect(viewer.getByRole("menuitem", { name: "New organization…" })).toBeVisible();
  await viewer.context().close();

  await keys.fill("");
  await page.getByLabel("WebSockets").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("[data-toast]")).toHaveText("Saved");
  await expect(keys).toHaveValue("500");
  const { org } = await request<{ org: { limits: Record<string, number> } }>(
    page,
    "{ org { limits { apiKeys sockets } } }",
    {},
  );
  expect(org.limits).toEqual({ apiKeys: 500, sockets: 20_000 });
});
