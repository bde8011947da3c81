import type { Page } from "@playwright/test";
import { agentMessages, createAgent, request, scriptedCall, signIn } from "./steps";
import { expect, test } from "./test";

const MOST_REQUESTS = 25;
const MOST_SESSION_BYTES = 300 * 1024;
const MOST_SESSION_FRAMES = 25;
const TURNS = 60;

interface Traffic {
  /** What was asked for, sockets included. */
  urls: string[];
  /** Of answers to operations, as they are on the wire, and of what sockets bring. */
  bytes: number;
  frames: number;
  encodings: Map<string, string>;
}

/** What goes over the wire from now on. */
async function watchTraffic(page: Page): Promise<Traffic> {
  const traffic: Traffic = { urls: [], bytes: 0, frames: 0, encodings: new Map() };
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  const operations = new Set<string>();
  network.on("Network.requestWillBeSent", ({ requestId, request }) => {
    traffic.urls.push(request.url);
    if (request.url.endsWith("/graphql")) operations.add(requestId);
  });
  network.on("Network.webSocketCreated", ({ url }) => traffic.urls.push(url));
  network.on("Network.responseReceived", ({ response }) => {
    traffic.encodings.set(response.url, response.headers["Content-Encoding"] ?? "none");
  });
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (operations.has(requestId)) traffic.bytes += encodedDataLength;
  });
  network.on("Network.webSocketFrameReceived", ({ response }) => {
    traffic.frames += 1;
    traffic.bytes += response.payloadData.length;
  });
  return traffic;
}

/** Makes a session with so many turns that each call a tool, without opening it. */
async function plantTurns(page: Page, agentId: string, title: string, turns: number) {
  const { createSession } = await request<{ createSession: { session: { id: string } } }>(
    page,
    "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } } }",
    { input: { agentId, title } },
  );
  const sessionId = createSession.session.id;
  for (let turn = 1; turn <= turns; turn += 1) {
    const text = scriptedCall("write_file", { path: `f${turn}.txt`, content: "x" }, `Turn ${turn}`);
    await request(
      page,
      "mutation ($input: SendMessageInput!) { sendMessage(input: $input) { userErrors { code } } }",
      { input: { sessionId, content: [{ text }], delivery: "QUEUE" } },
    );
  }
  await expect
    .poll(
      async () => {
        const { session } = await request<{ session: { status: string } }>(
          page,
          "query ($id: ID!) { session(id: $id) { status } }",
          { id: sessionId },
        );
        return session.status;
      },
      { timeout: 120_000 },
    )
    .toBe("IDLE");
  return sessionId;
}

test("the start page comes in few requests, and its files compressed by brotli", async ({
  page,
}) => {
  await signIn(page);
  // With a session there is more to show than the first steps.
  await plantTurns(page, await createAgent(page, "sim-script"), "Light", 1);
  const traffic = await watchTraffic(page);
  await page.goto("/");
  await expect(page.getByRole("region", { name: "Recent sessions" })).toContainText("Light");
  await expect(page.getByRole("region", { name: "Turns", exact: true })).toBeVisible();
  await page.waitForLoadState("networkidle");
  expect(traffic.urls.length, traffic.urls.join("\n")).toBeLessThanOrEqual(MOST_REQUESTS);
  for (const [url, encoding] of traffic.encodings) {
    if (/\.(js|css)$/.test(url)) expect(encoding, url).toBe("br");
  }
});

test("a long session opens with few bytes and frames", async ({ page }) => {
  await signIn(page);
  const id = await plantTurns(page, await createAgent(page, "sim-script"), "Heavy", TURNS);
  const traffic = await watchTraffic(page);
  await page.goto(`/sessions/${id}`);
  await expect(agentMessages(page).last()).toContainText(`Turn ${TURNS}`);
  await page.waitForLoadState("networkidle");
  const seen = `${traffic.bytes} bytes, ${traffic.frames} frames\n${traffic.urls.join("\n")}`;
  expect(traffic.bytes, seen).toBeLessThan(MOST_SESSION_BYTES);
  expect(traffic.frames, seen).toBeLessThanOrEqual(MOST_SESSION_FRAMES);
});
