import { Ostler } from "./ostler";
import { signIn } from "./steps";
import { test as base, expect } from "./test";

// The server that a worker's tests share has what these steps ask for.
const test = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures off this pattern.
  baseURL: async ({}, use) => {
    const fresh = await Ostler.start();
    await use(fresh.url);
    await fresh.remove();
  },
});

test("the first steps are links by their whole rows", async ({ page }) => {
  await signIn(page);
  const box = await page.getByRole("link", { name: "Create an agent" }).boundingBox();
  if (!box) throw new Error("there is no row");
  await page.mouse.click(box.x + 6, box.y + 6);
  await expect(page).toHaveURL(/\/agents\/new$/);
  await expect(page).toHaveTitle("New agent · Agents · Ostler");
});
