import { test as base, type ConsoleMessage, expect, type Page } from "@playwright/test";
import { Ostler } from "./ostler";

interface TestFixtures {
  /** What the browser complained about; empty at the end of each test. */
  complaints: string[];
  /** A test that takes the server away expects the browser to complain about that. */
  serverGoesAway: boolean;
}

interface WorkerFixtures {
  ostler: Ostler;
}

/** Errors of the console, refusals of the content security policy and exceptions that nobody caught. */
export function watchComplaints(page: Page, complaints: string[], serverGoesAway = false): void {
  const note = (message: ConsoleMessage) => {
    const text = message.text();
    const network = /Failed to load resource|WebSocket connection to|ERR_CONNECTION/.test(text);
    if (serverGoesAway && network) return;
    if (message.type() === "error" || /Content Security Policy/i.test(text)) complaints.push(text);
  };
  page.on("console", note);
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  ostler: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures off this pattern.
    async ({}, use) => {
      const ostler = await Ostler.start();
      await use(ostler);
      await ostler.remove();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ ostler }, use) => use(ostler.url),
  serverGoesAway: [false, { option: true }],
  complaints: async ({ serverGoesAway: _ }, use) => {
    const complaints: string[] = [];
    await use(complaints);
    expect(complaints).toEqual([]);
  },
  page: async ({ page, complaints, serverGoesAway }, use) => {
    watchComplaints(page, complaints, serverGoesAway);
    await use(page);
  },
});

export { expect };
