import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { signIn } from "./steps";
import { expect, test } from "./test";

const KEY = "sk-the-right-one";

/** A provider that lists two models to those who have the key. */
async function startProvider(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.headers.authorization !== `Bearer ${KEY}`) {
      response.statusCode = 401;
      response.end(JSON.stringify({ error: { message: "Incorrect API key." } }));
      return;
    }
    const data = ["house-small", "house-large"].map((id) => ({ id, object: "model" }));
    response.end(JSON.stringify({ object: "list", data }));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

test("a provider is added, its key is tested and replaced, and its models are chosen", async ({
  page,
}) => {
  const { server, url } = await startProvider();
  try {
    await signIn(page);
    await page.goto("/models");
    await page.getByRole("button", { name: "Add provider" }).first().click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Kind").selectOption("OPENAI_COMPATIBLE");
    await form.getByLabel("Name").fill("house");
    await form.getByLabel("Base URL").fill(url);
    await form.getByLabel("API key").fill("sk-wrong");
    await form.getByRole("button", { name: "Test this key" }).click();
    await expect(form.getByRole("alert")).toContainText("provider_misconfigured");
    await form.getByLabel("API key").fill(KEY);
    await expect(form.getByRole("alert")).toBeHidden();
    await form.getByRole("button", { name: "Test this key" }).click();
    await expect(form.getByRole("status")).toContainText("lists 2 models");
    await form.getByRole("button", { name: "Add provider" }).click();

    await expect(page).toHaveURL(/\/models\/prov/);
    await expect(page.getByText("has key")).toBeVisible();
    await expect(page.getByLabel("New API key")).toHaveValue("");
    expect(await page.content()).not.toContain(KEY);

    await page.getByRole("button", { name: "Discover models" }).click();
    const offered = page.getByRole("region", { name: "Models listed by the provider" });
    await offered.getByLabel(/house-small/).check();
    await offered.getByText("Edit limits and price").click();
    await offered.getByLabel("Input", { exact: true }).fill("0.5");
    await expect(offered.getByRole("button", { name: "Add 1 model" })).toBeDisabled();
    await offered.getByLabel("Output", { exact: true }).fill("1.25");
    await offered.getByRole("button", { name: "Add 1 model" }).click();
    const row = page.locator('[data-model="house-small"]');
    await expect(row).toContainText("$0.50 in · $1.25 out");

    await row.getByRole("checkbox").click();
    await expect(row.getByRole("checkbox")).not.toBeChecked();
    await page.reload();
    await expect(row.getByRole("checkbox")).not.toBeChecked();
    await row.getByRole("button", { name: /^Edit/ }).click();
    await page.getByRole("dialog").getByLabel("Context window").fill("128000");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect(row).toContainText(/128.*context/);

    // Another price, then none: what it was before stays to be seen.
    for (const [input, output] of [
      ["0.75", "2"],
      ["", ""],
    ] as const) {
      await row.getByRole("button", { name: /^Edit/ }).click();
      await form.getByLabel("Input", { exact: true }).fill(input);
      await form.getByLabel("Output", { exact: true }).fill(output);
      await form.getByRole("button", { name: "Save" }).click();
      await expect(form).toHaveCount(0);
    }
    await expect(row).toContainText("no price known");
    await row.getByRole("button", { name: /^Prices of/ }).click();
    const prices = form.locator("[data-price-from]");
    await expect(prices).toHaveCount(3);
    await expect(prices.nth(0)).toContainText("current");
    await expect(prices.nth(0)).toContainText("unknown");
    await expect(prices.nth(1)).toContainText("$0.75");
    await expect(prices.nth(1)).toContainText("until");
    await expect(prices.nth(2).getByRole("cell")).toHaveText([
      "$0.50",
      "$1.25",
      "unknown",
      "unknown",
    ]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("where a provider can't be asked, the well-known models are offered", async ({ page }) => {
  await signIn(page);
  await page.goto("/models");
  await page.getByRole("button", { name: "Add provider" }).first().click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Kind").selectOption("ANTHROPIC");
  await form.getByLabel("Name").fill("unreachable");
  await form.getByLabel("Base URL").fill("http://127.0.0.1:9");
  await form.getByLabel("API key").fill("sk-any");
  await form.getByRole("button", { name: "Add provider" }).click();
  await page.getByRole("button", { name: "Discover models" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  const known = page.getByRole("region", { name: /^Well-known models/ });
  await expect(known.getByRole("checkbox").first()).toBeVisible();

  await page.getByRole("button", { name: "Archive" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
  await expect(page.getByText("archived", { exact: true })).toBeVisible();
  await page.goto("/models");
  await expect(page.getByRole("link", { name: /Simulated/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /unreachable/ })).toBeHidden();
});
