import { isSignedWith, Receiver } from "./receiver";
import {
  acceptAsNewcomer,
  anotherBrowser,
  createAgent,
  invite,
  newEmail,
  openNewSession,
  openOrgPage,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

test("a webhook is created, hears of a turn, is repeated, rotated, disabled and deleted", async ({
  page,
}) => {
  const receiver = await Receiver.start();
  const { url } = receiver;
  try {
    await signIn(page);
    await openOrgPage(page, "Webhooks");
    await page.getByRole("button", { name: "New webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("URL").fill("https://10.0.0.1/x");
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    await expect(dialog.getByLabel("URL")).toHaveAccessibleDescription(/private network/);
    await dialog.getByLabel("URL").fill(url);
    await expect(dialog.getByRole("checkbox", { name: /TURN_COMPLETED/ })).toBeChecked();
    await dialog.getByRole("checkbox", { name: /TURN_SEALED/ }).uncheck();
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    const secret = (await dialog.locator("pre").textContent()) ?? "";
    expect(Buffer.from(secret, "base64")).toHaveLength(32);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.locator(`[data-webhook="${url}"]`);
    await expect(row.getByText("TURN_COMPLETED")).toBeVisible();
    await expect(row.getByText("TURN_SEALED")).toHaveCount(0);
    await expect(page.getByText(secret)).toHaveCount(0);

    await row.getByRole("button", { name: "Deliveries" }).click();
    await expect(page).toHaveURL(/\?webhook=hook_/);
    await expect(row.getByText("No deliveries in the last 30 days.")).toBeVisible();
    const address = page.url();
    await openNewSession(page, await createAgent(page, "sim-default"), "Told of");
    await send(page, "Hello");
    await expect(turnSummary(page)).toBeVisible();
    await expect.poll(() => receiver.heard.length).toBe(1);
    const [first] = receiver.heard;
    if (!first) throw new Error("nothing was heard");
    expect(JSON.parse(first.body).kind).toBe("TURN_COMPLETED");
    expect(isSignedWith(secret, first)).toBe(true);

    // A test comes at once, and shows what was sent and answered.
    await page.goto(address);
    await row.getByRole("button", { name: "Send test" }).click();
    const tested = row.locator("[data-delivery]").filter({ hasText: "TEST" });
    await expect(tested).toContainText(/answered in/);
    await tested.getByRole("button", { name: /^Details of/ }).click();
    await expect(tested.getByRole("region", { name: "Request body" })).toContainText(
      "This is a test.",
    );
    await expect(tested.getByRole("region", { name: "Response body" })).toContainText("Empty.");
    expect(JSON.parse(receiver.heard.pop()?.body ?? "{}").kind).toBe("TEST");

    // What stands in the address is what a visit shows.
    await page.goto(address);
    const delivery = row.locator("[data-delivery]").filter({ hasText: "TURN_COMPLETED" });
    await expect(async () => {
      await row.getByRole("button", { name: "Refresh" }).click();
      await expect(delivery).toContainText("HTTP 204", { timeout: 1000 });
    }).toPass();
    await expect(delivery).toContainText(/1 attempt · answered in .+ · delivered/);

    // The receiver fails: the page looks by itself what became of it.
    receiver.status = 500;
    await delivery.getByRole("button", { name: /^Send again/ }).click();
    await expect(delivery).toContainText("delivered, then failed");
    await expect(delivery).toContainText("the receiver answered with the status 500");
    await expect(delivery).toContainText("2 attempts");
    expect(receiver.heard.map(({ headers }) => headers["ostler-delivery"])).toEqual([
      await delivery.getAttribute("data-delivery"),
      await delivery.getAttribute("data-delivery"),
    ]);

    await row.getByRole("button", { name: "Rotate secret" }).click();
    await dialog.getByRole("button", { name: "Create new secret" }).click();
    await expect(dialog.getByText("The previous secret keeps signing for 24 hours.")).toBeVisible();
    const rotated = (await dialog.locator("pre").textContent()) ?? "";
    expect(rotated).not.toBe(secret);
    await dialog.getByRole("button", { name: "Done" }).click();
    receiver.status = 200;
    await delivery.getByRole("button", { name: /^Send again/ }).click();
    await expect(delivery).toContainText("HTTP 200");
    const third = receiver.heard.at(-1);
    expect(third && isSignedWith(rotated, third) && isSignedWith(secret, third)).toBe(true);

    await row.getByRole("button", { name: "Edit" }).click();
    await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
    for (const kind of [/TURN_COMPLETED/, /TURN_FAILED/, /APPROVAL_REQUESTED/]) {
      await dialog.getByRole("checkbox", { name: kind }).uncheck();
    }
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toContainText("at least one kind of event");
    await dialog.getByRole("checkbox", { name: /SESSION_IDLED/ }).check();
    await dialog.getByRole("button", { name: "Save" }).click();
    const kinds = row.getByRole("list", { name: /^Events of/ });
    await expect(kinds.getByText("SESSION_IDLED")).toBeVisible();
    await expect(kinds.getByText("TURN_COMPLETED")).toHaveCount(0);

    await row.getByRole("button", { name: "Disable" }).click();
    await expect(row.getByText(/^Disabled just now by Administrator\./)).toBeVisible();
    await expect(delivery.getByRole("button", { name: /^Send again/ })).toHaveCount(0);
    await row.getByRole("button", { name: "Enable" }).click();
    await expect(row.getByText("disabled", { exact: true })).toHaveCount(0);
    // A receiver that is gone is told nothing more, and the page says why.
    receiver.status = 410;
    await delivery.getByRole("button", { name: /^Send again/ }).click();
    await expect(delivery).toContainText("HTTP 410");
    await expect(row.getByText("disabled", { exact: true })).toBeVisible();
    await expect(
      row.getByText(/automatically: the receiver answered that it is gone/),
    ).toBeVisible();

    await row.getByRole("button", { name: "Delete" }).click();
    await expect(dialog).toContainText(url);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(row).toHaveCount(0);
    await page.reload();
    await expect(page.getByRole("button", { name: "New webhook" })).toBeVisible();
    await expect(row).toHaveCount(0);
  } finally {
    receiver.stop();
  }
});

test("who may not manage webhooks is not led to them", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const member = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(member, await invite(page, newEmail("walt"), "MEMBER"), "Walt");
  await member.goto("/organization");
  const tabs = member.getByRole("navigation", { name: "Organization" });
  await expect(tabs.getByRole("link", { name: "Limits" })).toBeVisible();
  await expect(tabs.getByRole("link", { name: "Webhooks" })).toHaveCount(0);
  await member.goto("/organization/webhooks");
  await expect(member.getByText("You don't have access")).toBeVisible();
  await expect(member.getByRole("button", { name: "New webhook" })).toHaveCount(0);
  await member.context().close();
});
