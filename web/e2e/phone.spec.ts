import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import {
  catalogIds,
  createAgent,
  openNewSession,
  request,
  send,
  signIn,
  turnSummary,
} from "./steps";
import { expect, test } from "./test";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

const menu = (page: Page) => page.getByRole("button", { name: /^Menu:/ });
const drawer = (page: Page) => page.getByRole("dialog").getByRole("navigation", { name: "Main" });

/** The addresses of all routes, as the router has them: a new page is looked at without being listed here. */
function routes(): string[] {
  const source = readFileSync(new URL("../src/router.tsx", import.meta.url), "utf8");
  const declared = source.matchAll(/(\w+)(?:\("\w+"\))?,\s+path: "([^"]+)"/g);
  return [...declared].map(([, parent, path]) =>
    `${/organization/i.test(parent ?? "") ? "/organization" : ""}${path}`.replace(/(.)\/$/, "$1"),
  );
}

/** What stands out of the screen, or can be moved sideways without being a row or a block that says so. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const named = (element: Element) => element.outerHTML.slice(0, 140);
    const found: string[] = [];
    if (document.documentElement.scrollWidth > width) found.push("the document");
    for (const element of document.body.querySelectorAll("*")) {
      const { right, left, width: own } = element.getBoundingClientRect();
      if (own === 0) continue;
      const style = getComputedStyle(element);
      if (style.visibility === "hidden") continue;
      // Code keeps its lines, and a row of tabs its names: they are made to be moved, and show it.
      const movable = element.closest("pre, [data-moves-sideways]");
      const moves =
        /auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth;
      if (moves && !movable) found.push(`moves sideways: ${named(element)}`);
      if (movable && movable !== element) continue;
      // What is cut off with an ellipsis or is for screen readers alone is not seen out there.
      if (element.closest(".truncate, .sr-only, [data-clips]")) continue;
      if (right > width + 1 || left < -1) found.push(`out of the screen: ${named(element)}`);
    }
    return found.slice(0, 4);
  });
}

test("on a phone each page fits the screen, and the menu leads to it", async ({ page }) => {
  await signIn(page);
  const agentId = await createAgent(page, "sim-default", {
    displayName: "A helper with a rather long name that has to break somewhere",
  });
  const { harnessId, providerId } = await catalogIds(page);
  const { createBudget } = await request<{ createBudget: { budget: { id: string } } }>(
    page,
    "mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } } }",
    {
      input: {
        subject: "AGENT",
        subjectId: agentId,
        currency: "tokens",
        limit: "8999999999",
        softLimit: "8999999990",
        period: { kind: "CALENDAR", unit: "MONTH", timezone: "America/Argentina/Buenos_Aires" },
      },
    },
  );
  await openNewSession(page, agentId, "A session whose name is longer than a phone is wide");
  const sessionId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await send(page, "Write hello world to file notes.txt and then read it back");
  await expect(turnSummary(page)).toBeVisible({ timeout: 20_000 });
  const budgetId = createBudget.budget.id;
  const ids: Record<string, string> = {
    agentId,
    harnessId,
    providerId,
    sessionId,
    budgetId,
    guide: "api",
  };

  const addresses = routes().map((route) =>
    route.replace(/\$(\w+)/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`this test has to make something for ${route}`);
      return id;
    }),
  );
  expect(addresses).toContain("/organization/members");
  const views = ["timeline", "events", "config"].map(
    (each) => `/sessions/${sessionId}?view=${each}`,
  );
  for (const address of [...addresses, ...views, "/invite?token=x", "/reset?token=x", "/nowhere"]) {
    await page.goto(address);
    await expect(page.getByRole("heading").first()).toBeVisible();
    await page.waitForLoadState("networkidle");
    expect.soft(await tooWide(page), address).toEqual([]);
  }

  await page.goto("/");
  await menu(page).tap();
  const links = drawer(page).getByRole("link");
  const labels = await links.allInnerTexts();
  expect(labels).toEqual(expect.arrayContaining(["Home", "Budgets", "Usage", "Organization"]));
  await page.keyboard.press("Escape");
  for (const label of labels) {
    await menu(page).tap();
    const link = drawer(page).getByRole("link", { name: label, exact: true });
    await expect(link).toBeInViewport({ ratio: 1 });
    const box = await link.boundingBox();
    expect(box?.height, label).toBeGreaterThanOrEqual(36);
    await link.tap();
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await expect(menu(page)).toContainText(label);
    await menu(page).tap();
    await expect(drawer(page).locator("[aria-current=page]")).toHaveText(label);
    expect.soft(await tooWide(page), `the menu over ${label}`).toEqual([]);
    await page.keyboard.press("Escape");
  }
});

test("on a phone each tab of the organization is within reach", async ({ page }) => {
  await signIn(page);
  await page.goto("/organization/profile");
  const tabs = page.getByRole("navigation", { name: "Organization" });
  // The present one is in sight, though it is the last of a row that is wider than the screen.
  await expect(tabs.locator("[aria-current=page]")).toHaveText("Your profile");
  await expect(tabs.locator("[aria-current=page]")).toBeInViewport({ ratio: 0.95 });
  for (const label of await tabs.getByRole("link").allInnerTexts()) {
    await tabs.getByRole("link", { name: label, exact: true }).tap();
    const current = tabs.locator("[aria-current=page]");
    await expect(current).toHaveText(label);
    await expect(current).toBeInViewport({ ratio: 0.95 });
  }
});

test("on a phone the menu works by keyboard alone", async ({ page }) => {
  await signIn(page);
  await page.goto("/budgets");
  await expect(menu(page)).toContainText("Budgets");
  await menu(page).focus();
  await page.keyboard.press("Enter");
  await expect(drawer(page).getByRole("link", { name: "Budgets" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(menu(page)).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect(drawer(page).getByRole("link", { name: "Usage" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/usage/);
  await expect(menu(page)).toContainText("Usage");
});
