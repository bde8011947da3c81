import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request, signIn } from "./steps";
import { expect, test } from "./test";

/** How a program that was copied from the page is run. The one for the shell goes on until it is stopped. */
const RUN = {
  curl: { file: "ask.sh", command: ["bash"] },
  JavaScript: { file: "ask.mjs", command: [process.execPath] },
  Python: { file: "ask.py", command: ["python3"] },
  Go: { file: "ask.go", command: ["go", "run"] },
};

/** Runs a program until it has printed something, and gives what it printed. */
function run(language: keyof typeof RUN, text: string, key: string, until: string) {
  const { file, command } = RUN[language];
  const dir = mkdtempSync(join(tmpdir(), "ostler-snippet-"));
  writeFileSync(join(dir, file), text);
  return new Promise<string>((settle) => {
    let printed = "";
    const child = execFile(command[0] as string, [...command.slice(1), file], {
      cwd: dir,
      env: { ...process.env, OSTLER_API_KEY: key, CGO_ENABLED: "0" },
    });
    const stop = new AbortController();
    const note = (chunk: string) => {
      printed += chunk;
      if (printed.includes(until) && language === "curl" && !stop.signal.aborted) {
        stop.abort();
        // The shell waits for the request that it runs, which goes on until the server ends it.
        child.stdout?.destroy();
        child.kill();
      }
    };
    child.stdout?.on("data", note);
    child.stderr?.on("data", note);
    child.once("error", ({ message }) => note(message));
    child.once("close", () => {
      rmSync(dir, { recursive: true });
      settle(printed);
    });
  });
}

test("the programs of the API page work as they are copied", async ({ page }) => {
  await signIn(page);
  const { agents } = await request<{ agents: { nodes: { id: string }[] } }>(
    page,
    '{ agents(search: "demo") { nodes { id } } }',
    {},
  );
  const { createApiKey } = await request<{ createApiKey: { key: string } }>(
    page,
    'mutation { createApiKey(input: { name: "snippets", permissions: [SESSIONS_READ, SESSIONS_WRITE] }) { key } }',
    {},
  );
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "API" }).click();
  await page.getByLabel("Agent").selectOption(agents.nodes[0]?.id ?? "");
  for (const language of Object.keys(RUN) as (keyof typeof RUN)[]) {
    await page.getByRole("button", { name: language, exact: true }).click();
    const program = page.locator("pre");
    await expect(program).toContainText(agents.nodes[0]?.id ?? "");
    const text = (await program.textContent()) ?? "";
    const printed = await run(language, text, createApiKey.key, "SESSION_IDLED");
    expect(printed, language).toContain("get_current_time");
    expect(printed, language).toContain("in Asia/Tokyo");
  }
});

test("the guides are read in the dashboard, and lead to each other", async ({ page }) => {
  await signIn(page);
  await page.goto("/api");
  await page.getByRole("link", { name: "The API" }).click();
  await expect(page).toHaveTitle("The API · Docs · Ostler");
  await page.getByRole("link", { name: "transports", exact: true }).first().click();
  await expect(page).toHaveURL(/\/docs\/api#transports$/);
  await expect(page.getByRole("heading", { name: "Transports" })).toBeInViewport();
  await page.getByRole("link", { name: "Model providers" }).first().click();
  await expect(
    page.getByRole("heading", { level: 1, name: /Model providers/ }).first(),
  ).toBeVisible();
  await page.getByRole("heading", { level: 1 }).getByRole("link", { name: "Docs" }).click();
  await expect(page).toHaveURL(/\/docs$/);
  await page.getByRole("link", { name: "Webhooks", exact: true }).click();
  await expect(page).toHaveTitle("Webhooks · Docs · Ostler");
  await page.goto("/docs/nothing");
  await expect(page.getByText("Page not found")).toBeVisible();
});
