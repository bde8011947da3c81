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
    .getByLabel("Files to attach")
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

test("a text file is put among the session's files, survives a reload, and is named in the message", async ({
  page,
}) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Texts");
  await page
    .getByLabel("Files to attach")
    .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  const attachments = page.getByRole("list", { name: "Attachments" });
  await expect(attachments.getByText("notes.txt", { exact: true })).toBeVisible();
  await page.reload();
  await expect(attachments.getByText("notes.txt", { exact: true })).toBeVisible();
  await page.getByRole("textbox", { name: "Message" }).fill("Read this");
  await page.keyboard.press("Enter");
  await expect(attachments).toBeHidden();
  await expect(userMessages(page)).toContainText(
    /Read this\s+Attached file: \/workspace\/uploads\/[0-9a-f]{8}\/notes\.txt/,
  );
  await expect(agentMessages(page).last()).toContainText("notes.txt");
  const files = page.getByRole("complementary", { name: "Session details" });
  await files.getByRole("button", { name: /uploads/ }).click();
  await files.getByRole("button", { name: /^[0-9a-f]{8}/ }).click();
  await files.getByRole("button", { name: /notes\.txt/ }).click();
  await expect(page.getByRole("dialog")).toContainText("hello");
});

test("what is neither image nor text is refused where it was attached", async ({ page }) => {
  await signIn(page);
  await openNewSession(page, await createAgent(page, "sim-echo"), "Neither");
  await page.getByLabel("Files to attach").setInputFiles([
    { name: "program.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 255]) },
    { name: "log.txt", mimeType: "text/plain", buffer: Buffer.alloc(500_001, "x") },
  ]);
  await expect(page.getByRole("alert").first()).toContainText("program.bin is neither text");
  await expect(page.getByRole("alert").last()).toContainText("log.txt is larger than 500 KB");
  await page.getByRole("button", { name: "Remove program.bin" }).click();
  await page.getByRole("button", { name: "Remove log.txt" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
});
