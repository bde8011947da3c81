import type { Page } from "@playwright/test";
import { cancelOpenTurns, createAgent, openNewSession, send, signIn } from "./steps";
import { expect, test } from "./test";

const rule = { tools: ["write_file", "edit_file"], approve: "always" };

async function askFor(page: Page, title: string, responses: unknown[]): Promise<void> {
  const agent = await createAgent(page, "sim-script", {
    capabilities: [{ id: "approvals", config: { rules: [rule], allowSelf: true } }],
  });
  await openNewSession(page, agent, title);
  await send(page, JSON.stringify({ responses }));
}

const write = (path: string, content: string) => ({
  tool_call: { name: "write_file", arguments: { path, content } },
});
const edit = (path: string, old: string, next: string) => ({
  tool_call: { name: "edit_file", arguments: { path, replacements: [{ old, new: next }] } },
});

test("calls are read as changes, decided by keys and all at once, and found in the history", async ({
  page,
}) => {
  await signIn(page);
  await cancelOpenTurns(page);
  await askFor(page, "Decided by keys", [
    { chunks: [write("/workspace/poem.txt", "roses\nviolets\n")] },
    { chunks: [edit("/workspace/poem.txt", "violets", "tulips")] },
    { chunks: [write("/workspace/a.txt", "a"), write("/workspace/b.txt", "b")] },
    { chunks: [{ text: "All done." }] },
  ]);
  await page.getByRole("link", { name: /^Approvals/ }).click();
  const list = page.getByRole("list", { name: "Open waits" });
  const card = list.locator('[data-wait="APPROVAL"]');
  await expect(card).toContainText("New file");
  await expect(card).toContainText(/Turn started by/);
  await expect(card).toContainText("Rule 1 of the approval policy requires it");
  await expect(card.locator('[data-line="added"]').first()).toContainText("roses");

  // Nothing is decided that the reader has not gone to.
  await page.keyboard.press("a");
  await page.keyboard.press("j");
  await expect(card).toBeFocused();
  await page.keyboard.press("a");
  await expect(page.locator("[data-toast]")).toHaveText("You approved write_file.");

  // Against the file as it is now.
  await expect(card).toContainText("Approve edit_file?");
  await expect(card.locator('[data-line="removed"]')).toContainText("violets");
  await expect(card.locator('[data-line="added"]')).toContainText("tulips");
  await card.getByRole("button", { name: "JSON" }).click();
  await expect(card).toContainText('"replacements"');
  await page.locator("body").click({ position: { x: 1, y: 1 } });
  await page.keyboard.press("j");
  await page.keyboard.press("d");

  await expect(page.getByText("2 calls of one turn wait for approval")).toBeVisible();
  await page.getByRole("button", { name: "Approve all…" }).click();
  const dialog = page.getByRole("dialog", { name: "Approve 2 calls?" });
  await dialog.getByRole("button", { name: "Approve all" }).click();
  await expect(page.getByText("You're all caught up")).toBeVisible();
  // Whoever has decided before knows how approvals come about.
  await expect(page.getByText(/appears here and in its session/)).toBeVisible();
  await expect(page.getByText(/Attach the Approvals capability/)).toBeHidden();

  await page.getByRole("button", { name: "History" }).click();
  const decided = page
    .getByRole("list", { name: "Decided approvals" })
    .locator("[data-decided]")
    .filter({ hasText: "Decided by keys" });
  await expect(decided).toHaveCount(4);
  const denied = decided.filter({ hasText: "Denied: edit_file" });
  await expect(denied).toHaveCount(1);
  await denied.locator("summary").click();
  await expect(denied.getByRole("list", { name: "Decisions" })).toContainText("denied");
  await expect(denied.locator('[data-line="added"]')).toContainText("tulips");
});
