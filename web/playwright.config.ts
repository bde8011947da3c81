import { defineConfig } from "@playwright/test";

// The server is started by the tests themselves (e2e/ostler.ts), because some of them kill it.
export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  fullyParallel: false,
  workers: 2,
  // A limit for what hangs; nothing is timed by it, and a busy machine is slow.
  timeout: 180_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  reporter: [["list"]],
  use: {
    // Fail at the control that is not there, not at the end of a long test.
    actionTimeout: 40_000,
    launchOptions: {
      executablePath: process.env.OSTLER_E2E_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-background-networking"],
    },
    viewport: { width: 1280, height: 800 },
    trace: "retain-on-failure",
  },
});
