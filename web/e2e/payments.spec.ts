import { anyTurn, createPolicy, onePaymentEach, plantPayments, SECRET } from "./paymentTour";
import { acceptAsNewcomer, anotherBrowser, invite, newEmail, request, signIn } from "./steps";
import { expect, test } from "./test";

test("a payment policy is created, changed, disabled and deleted", async ({ page }) => {
  await signIn(page);
  const name = `Books ${Date.now().toString(36)}`;
  await page.goto("/payments");
  await page.getByRole("link", { name: "Policies", exact: true }).click();
  await expect(page).toHaveURL(/view=policies/);
  await page.getByRole("button", { name: "New policy" }).click();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Create policy" });
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("checkbox", { name: /ask_user/ }).check();
  await dialog.getByLabel("Allowed payees (hosts)").fill("books.example.com/cart");
  await dialog.getByLabel("Limit per payment").fill("20");
  await dialog.getByLabel("Limit per turn").fill("50");
  await dialog.getByLabel("Limit per day").fill("500");
  await dialog.getByLabel("Approval above").fill("10");
  await dialog.getByLabel("Payment server URL").fill("http://127.0.0.1:9/pay");
  await dialog.getByLabel("Secret").fill("too short");
  await expect(dialog.getByLabel("Secret")).toHaveAccessibleDescription(/at least 32/);
  await expect(create).toBeDisabled();
  await dialog.getByLabel("Secret").fill(SECRET);
  await create.click();
  // What the server refuses stands at its field, and nothing that was typed is lost.
  await expect(dialog.getByLabel("Allowed payees (hosts)")).toHaveAccessibleDescription(
    /is not a host/,
  );
  await dialog.getByLabel("Allowed payees (hosts)").fill("books.example.com\n*.shop.example.com");
  await create.click();
  await expect(dialog).toHaveCount(0);

  const row = page.locator("tr[data-policy]").filter({ hasText: name });
  await expect(row).toContainText("Tools of ask_user");
  await expect(row).toContainText("books.example.com");
  await expect(row).toContainText("$20.00 per payment");
  await expect(row).toContainText("approval above $10.00");
  await expect(row).toContainText("Enabled");
  expect(await page.content()).not.toContain(SECRET);

  const act = async (what: string) => {
    await row.getByRole("button", { name: `Actions for the policy ${name}` }).click();
    await page.getByRole("menuitem", { name: what }).click();
  };
  await act("Edit…");
  await expect(dialog.getByLabel("New secret")).toHaveValue("");
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await dialog.getByLabel("Limit per payment").fill("25.5");
  await dialog.getByLabel("Approval above").fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("$25.50 per payment");
  await expect(row).not.toContainText("approval above");

  await act("Disable…");
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(row).toContainText("Disabled");
  await page.reload();
  const { paymentPolicies } = await request<{ paymentPolicies: Record<string, unknown>[] }>(
    page,
    "{ paymentPolicies { name maxPerRequest approvalAbove enabled hosts } }",
    {},
  );
  expect(paymentPolicies.find((each) => each.name === name)).toEqual({
    name,
    maxPerRequest: "25.5",
    approvalAbove: null,
    enabled: false,
    hosts: ["*.shop.example.com", "books.example.com"],
  });
  await act("Enable…");
  await dialog.getByRole("button", { name: "Enable" }).click();
  await expect(row).toContainText("Enabled");
  await act("Delete…");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(row).toHaveCount(0);
});

test("payments are found by status and policy, lead to their turn, and are settled", async ({
  page,
}) => {
  await signIn(page);
  const name = `Shops ${Date.now().toString(36)}`;
  const policyId = await createPolicy(page, { name });
  const { sessionId, turnId } = await anyTurn(page);
  const payments = onePaymentEach({ sessionId, turnId, policyId });
  const gone = "ppol_00000000000070008000000000000000";
  await plantPayments(page, [...payments, { ...payments[1], policyId: gone }]);
  await page.goto("/payments");
  const rows = page.locator("[data-payment]");
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(0)).toContainText("3 attempts so far.");
  await expect(rows.nth(0)).toContainText("status 503");
  await expect(rows.nth(1)).toContainText("$9.99");
  await expect(rows.nth(1)).toContainText("paid $10.25");
  await expect(rows.nth(1)).toContainText("order-2211");
  await expect(rows.nth(2)).toContainText("The shop has closed.");
  await expect(rows.nth(3)).toContainText("Deleted policy");

  await page.getByLabel("Status", { exact: true }).selectOption("PAID");
  await expect(rows).toHaveCount(2);
  await page.getByLabel("Policy", { exact: true }).selectOption(name);
  await expect(rows).toHaveCount(1);
  await page.reload();
  await expect(rows).toHaveCount(1);
  await page.getByLabel("Status", { exact: true }).selectOption("ASKED");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(rows).toHaveCount(4);

  await expect(page.getByRole("button", { name: /^Settle/ })).toHaveCount(1);
  await page.getByRole("button", { name: "Settle the payment to books.example.com" }).click();
  const dialog = page.getByRole("dialog");
  const settle = dialog.getByRole("button", { name: "Settle" });
  await expect(settle).toBeDisabled();
  await dialog.getByRole("radio", { name: /^Paid/ }).check();
  await dialog.getByLabel("Reference").fill("order-2212");
  await settle.click();
  // The server itself has no such payment; what it says stands where it was asked.
  await expect(dialog.getByRole("alert")).toContainText("There is no payment with the id");
  await page.keyboard.press("Escape");

  await rows.first().getByRole("link", { name: "Turn" }).click();
  await expect(page).toHaveURL(new RegExp(`${sessionId}\\?.*turn=${turnId}`));
  await expect(page.getByText("One turn only")).toBeVisible();
});

test("who may not manage budgets sees what was paid, and nothing to change", async ({
  page,
  browser,
  baseURL,
  complaints,
}) => {
  await signIn(page);
  const policyId = await createPolicy(page, { name: "Not for members" });
  const turn = await anyTurn(page);
  const member = await anotherBrowser(browser, baseURL, complaints);
  await acceptAsNewcomer(member, await invite(page, newEmail("paula"), "MEMBER"), "Paula");
  await plantPayments(member, onePaymentEach({ ...turn, policyId }));
  await member.goto("/payments?view=policies");
  await expect(member.locator("[data-payment]")).toHaveCount(3);
  await expect(member.getByText("Not for members")).toHaveCount(0);
  await expect(member.getByRole("link", { name: "Policies" })).toHaveCount(0);
  await expect(member.getByRole("button", { name: "New policy" })).toHaveCount(0);
  await expect(member.getByRole("button", { name: /^Settle/ })).toHaveCount(0);
  await member.context().close();
});
