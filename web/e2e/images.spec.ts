import { agentMessages, createAgent, openNewSession, signIn, userMessages } from "./steps";
import { expect, test } from "./test";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("an image is attached, survives a reload, and is sent without a word", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Pictures");
  await page
    .getByLabel("Images to attach")
    .setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer: PIXEL });
  await expect(page.getByRole("img", { name: "pixel.png" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("img", { name: "pixel.png" })).toBeVisible();
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("img", { name: "pixel.png" })).toBeHidden();
  const shown = userMessages(page).getByRole("img");
  await expect(shown).toBeVisible();
  await expect(shown).toHaveJSProperty("naturalWidth", 1);
  await expect(agentMessages(page).last()).toBeVisible();
});

test("what is no image is refused where it was attached", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Texts");
  await page
    .getByLabel("Images to attach")
    .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await expect(page.getByRole("alert")).toContainText("notes.txt is no PNG");
  await page.getByRole("button", { name: "Remove notes.txt" }).click();
  await expect(page.getByRole("alert")).toBeHidden();
});
