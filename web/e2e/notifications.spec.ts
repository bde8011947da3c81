import {
  approvals,
  cancelOpenTurns,
  createAgent,
  openNewSession,
  send,
  signIn,
  turnSummary,
  WRITE_NOTES,
  waitCard,
} from "./steps";
import { expect, test } from "./test";

declare global {
  interface Window {
    shown: Notification[];
    hide: boolean;
  }
}

test("what begins to wait is told by the browser while the page is hidden, once that was asked for", async ({
  page,
}) => {
  await page.context().grantPermissions(["notifications"]);
  // Nobody sees notifications in a browser without a screen, and no page of it is ever hidden.
  await page.addInitScript(() => {
    window.shown = [];
    const Shown = window.Notification;
    window.Notification = class extends Shown {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        window.shown.push(this);
      }
    };
    Object.defineProperty(document, "visibilityState", {
      get: () => (window.hide ? "hidden" : "visible"),
    });
  });
  const shown = () =>
    page.evaluate(() => window.shown.map(({ title, body }) => `${title} ${body}`));
  await signIn(page);
  const agent = await createAgent(page, "sim-default", approvals());

  await openNewSession(page, agent, "Not asked for");
  await page.evaluate(() => {
    window.hide = true;
  });
  await send(page, WRITE_NOTES);
  await expect(waitCard(page, "APPROVAL")).toBeVisible();
  // By the time of the second request the first would long have been told.
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await expect(turnSummary(page)).toBeVisible();
  await send(page, WRITE_NOTES);
  await expect(waitCard(page, "APPROVAL")).toBeVisible();
  expect(await shown()).toEqual([]);

  await page.getByRole("link", { name: /^Approvals/ }).click();
  await page.getByRole("button", { name: "Notify me" }).click();
  await expect(page.getByRole("button", { name: "Notifications on" })).toBeVisible();
  expect(await shown()).toEqual(["Notifications are on You will see here what waits for you."]);
  await openNewSession(page, agent, "Asked for");
  await page.evaluate(() => {
    window.hide = true;
  });
  await send(page, WRITE_NOTES);
  await expect.poll(shown).toEqual(["Approval needed: write_file In Asked for"]);

  await page.getByRole("link", { name: /^Approvals/ }).click();
  await page.evaluate(() => window.shown[0]?.dispatchEvent(new Event("click")));
  await expect(page.getByRole("heading", { name: "Asked for", exact: true })).toBeVisible();
  await cancelOpenTurns(page);
});
