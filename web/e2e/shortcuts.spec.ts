import type { Locator, Page } from "@playwright/test";
import { createAgent, signIn } from "./steps";
import { expect, test } from "./test";

const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true });

/** Presses G and a key until that leads somewhere: on a busy machine the second may come too late. */
async function chord(page: Page, key: string, there: Locator): Promise<void> {
  await expect(async () => {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(there).toBeVisible({ timeout: 2000 });
  }).toPass();
}
const sheet = (page: Page) => page.getByRole("dialog", { name: "Keyboard shortcuts" });

test("keys lead to the pages, never while somebody types, and can be turned off", async ({
  page,
}) => {
  await signIn(page);
  await chord(page, "s", heading(page, "Sessions"));
  await expect(page).toHaveTitle(/^(\(\d+\) )?Sessions · Ostler$/);

  // What is typed is text.
  const search = page.getByRole("searchbox").first();
  await search.pressSequentially("ga?c");
  await expect(search).toHaveValue("ga?c");
  await expect(heading(page, "Sessions")).toBeVisible();
  await expect(sheet(page)).toHaveCount(0);
  await search.blur();

  await page.keyboard.press("?");
  await expect(sheet(page)).toContainText("Budgets");
  // Nor is anything a shortcut behind a dialog.
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await expect(sheet(page)).toBeVisible();
  await sheet(page).getByLabel("Single-key shortcuts").uncheck();
  await expect(sheet(page)).not.toContainText("Budgets");
  await page.keyboard.press("Escape");
  await expect(sheet(page)).toHaveCount(0);

  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await page.keyboard.press("?");
  await page.reload();
  await expect(heading(page, "Sessions")).toBeVisible();
  await page.keyboard.press("?");
  await expect(sheet(page)).toHaveCount(0);

  // The list is still to be found, and the keys come back.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("keyboard");
  await page.keyboard.press("Enter");
  await sheet(page).getByLabel("Single-key shortcuts").check();
  await page.keyboard.press("Escape");
  await chord(page, "b", heading(page, "Budgets"));
});

test("Ctrl+S saves an agent, which is said", async ({ page }) => {
  await signIn(page);
  const id = await createAgent(page, "sim-default");
  await page.goto(`/agents/${id}`);
  await page.getByLabel("Description").fill("Saved by a key");
  await page.keyboard.press("Control+s");
  await expect(page.locator("[data-toast]")).toHaveText("Saved");
  await expect(page.getByText("rev 2")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Description")).toHaveValue("Saved by a key");
});

test.describe("while the server is away", () => {
  test.use({ serverGoesAway: true });

  test("a list and a page whose code is not loaded yet come by themselves", async ({
    page,
    ostler,
  }) => {
    await signIn(page);
    await ostler.stop();
    await chord(page, "u", page.getByRole("progressbar", { name: "Loading the page" }));
    await ostler.run();
    await expect(heading(page, "Usage")).toBeVisible({ timeout: 30_000 });

    await page.goto("/agents");
    await expect(heading(page, "Agents")).toBeVisible();
    await ostler.stop();
    await page
      .getByLabel(/Search/)
      .first()
      .fill("zzz");
    await expect(page.getByText("The server can't be reached.")).toBeVisible();
    await ostler.run();
    await expect(page.getByText("The server can't be reached.")).toBeHidden({ timeout: 30_000 });
  });
});
