import { type APIResponse, type Browser, expect, type Page } from "@playwright/test";
import { documentIds } from "../src/gql/documentIds";
import { ADMIN } from "./ostler";
import { watchComplaints } from "./test";

export async function signIn(page: Page): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Home", exact: true })).toBeVisible();
}

const tokens = new Map<string, string>();

/** An access token for the server at an address. With the page's cookies only documents of the dashboard are taken. */
async function signInByToken(origin: string): Promise<string> {
  const response = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      query: "mutation ($input: SignInInput!) { signIn(input: $input) { tokens { accessToken } } }",
      variables: { input: { email: ADMIN.email, password: ADMIN.password } },
    }),
  });
  const token = (await response.json()).data.signIn.tokens.accessToken;
  tokens.set(origin, token);
  return token;
}

export async function request<Data>(
  page: Page,
  query: string,
  variables: Record<string, unknown>,
): Promise<Data> {
  // The page itself may show nothing yet.
  const { origin } = new URL((await page.request.get("/healthz")).url());
  const ask = async (token: string) => {
    const response: APIResponse = await page.request.post("/graphql", {
      headers: { authorization: `Bearer ${token}` },
      data: { query, variables },
    });
    return (await response.json()) as { data: Data; errors?: unknown };
  };
  let answer = await ask(tokens.get(origin) ?? (await signInByToken(origin)));
  // Another test may have ended all sign-ins.
  if (JSON.stringify(answer.errors)?.includes("DOCUMENT_NOT_TRUSTED")) {
    answer = await ask(await signInByToken(origin));
  }
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

/** What the page itself could ask: an operation of the dashboard, by its name, with the page's own cookies. */
export async function requestAsPage<Data>(
  page: Page,
  operationName: string,
  variables: Record<string, unknown> = {},
): Promise<Data> {
  const response = await page.request.post("/graphql", {
    data: {
      operationName,
      variables,
      extensions: { persistedQuery: { version: 1, sha256Hash: documentIds[operationName] } },
    },
  });
  const answer = (await response.json()) as { data: Data; errors?: unknown };
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

let agents = 0;

/** Makes an agent on the harness `generic` through the API, for tests that are not about agents. */
export async function createAgent(
  page: Page,
  model: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { models, harnesses } = await request<{
    models: { nodes: { id: string; name: string }[] };
    harnesses: { nodes: { id: string; name: string }[] };
  }>(
    page,
    "{ models(first: 100) { nodes { id name } } harnesses(first: 100) { nodes { id name } } }",
    {},
  );
  agents += 1;
  const name = `helper-${agents}-${Date.now().toString(36)}`;
  const { createAgent } = await request<{ createAgent: { agent: { id: string } } }>(
    page,
    "mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }",
    {
      input: {
        name,
        displayName: "Helper",
        description: "Writes files and reads them back",
        systemPrompt: "You are a helper.",
        harnessId: harnesses.nodes.find((each) => each.name === "generic")?.id,
        defaultModelId: models.nodes.find((each) => each.name === model)?.id,
        tags: ["test"],
        ...more,
      },
    },
  );
  return createAgent.agent.id;
}

/** Makes a session through the API, and opens it. */
export async function openNewSession(page: Page, agentId: string, title: string): Promise<void> {
  const { createSession } = await request<{ createSession: { session: { id: string } } }>(
    page,
    "mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id } } }",
    { input: { agentId, title } },
  );
  await page.goto(`/sessions/${createSession.session.id}`);
  await expect(page.getByRole("heading", { name: title, exact: true })).toBeVisible();
}

/** Cancels what still works or waits: for tests that leave turns behind on the server that all share. */
export async function cancelOpenTurns(page: Page): Promise<void> {
  const { sessions } = await request<{
    sessions: { nodes: { activeTurn: { id: string } | null; queuedTurns: { id: string }[] }[] };
  }>(page, "{ sessions(first: 100) { nodes { activeTurn { id } queuedTurns { id } } } }", {});
  const turns = sessions.nodes.flatMap(({ activeTurn, queuedTurns }) =>
    // The queue first, or its next turn would begin meanwhile.
    activeTurn ? [...queuedTurns, activeTurn] : queuedTurns,
  );
  for (const { id } of turns) {
    await request(page, "mutation ($id: ID!) { cancelTurn(turnId: $id) { userErrors { code } } }", {
      id,
    });
  }
}

export async function send(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

export const agentMessages = (page: Page) => page.locator('[data-role="agent"]');
export const userMessages = (page: Page) => page.locator('[data-role="user"]');
export const toolCard = (page: Page, tool: string) =>
  page.locator(`[data-role="tool"][data-tool="${tool}"]`);
/** The line below an answer, with its duration and cost. */
export const turnSummary = (page: Page) => page.getByText(/first token .* tokens/);

/** A text whose echo streams for some seconds, and that ends in a word to wait for. */
export function longText(words: number, last: string): string {
  return [...Array.from({ length: words }, (_, index) => `word${index}`), last].join(" ");
}

/** The model that repeats what it is told, at 20 ms per token. */
export const SLOW_ECHO = "sim-latency:300:20";

/** A message that makes the model sim-script fail as a provider does. */
export function scriptedError(error: { status: number; retry_after_ms?: number }): string {
  return JSON.stringify({ responses: [{ chunks: [{ error }] }] });
}

/** A message that makes the model sim-script call a tool, and then say something. */
export function scriptedCall(name: string, args: Record<string, unknown>, last: string): string {
  return JSON.stringify({
    responses: [
      { chunks: [{ tool_call: { name, arguments: args } }] },
      { chunks: [{ text: last }] },
    ],
  });
}

/** What an agent needs for people to approve what it writes; the one who started the turn may do so. */
export function approvals(settings: Record<string, unknown> = {}) {
  const rule = { tools: ["write_file"], approve: "always" };
  return {
    capabilities: [{ id: "approvals", config: { rules: [rule], allowSelf: true, ...settings } }],
  };
}

export const WRITE_NOTES = "Write hello world to file notes.txt";

/** The card of something that waits, by its kind. */
export const waitCard = (page: Page, kind: string) => page.locator(`[data-wait="${kind}"]`);

/** Chooses how the next message meets the work under way. */
export async function deliver(page: Page, how: "Steer" | "Queue" | "Interrupt"): Promise<void> {
  await page.getByRole("group", { name: "Delivery" }).getByText(how, { exact: true }).click();
}

/** Gives an agent a second revision. */
export async function changeAgent(page: Page, id: string): Promise<void> {
  await request(
    page,
    "mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { agent { id } } }",
    {
      id,
      input: {
        systemPrompt: "You are a helper.\nYou write files and read them back.",
        maxIterations: 20,
        reason: "Say what it is for",
      },
    },
  );
}

/** The ids of the built-in harness `generic` and of the provider that ships with the server. */
export async function catalogIds(page: Page): Promise<{ harnessId: string; providerId: string }> {
  const { harnesses, providers } = await request<{
    harnesses: { nodes: { id: string; name: string }[] };
    providers: { nodes: { id: string; kind: string }[] };
  }>(
    page,
    "{ harnesses(first: 100) { nodes { id name } } providers(first: 100) { nodes { id kind } } }",
    {},
  );
  const harness = harnesses.nodes.find(({ name }) => name === "generic");
  const provider = providers.nodes.find(({ kind }) => kind === "SIMULATED");
  if (!harness || !provider) throw new Error("the catalog lacks what ships with the server");
  return { harnessId: harness.id, providerId: provider.id };
}

export const PASSWORD = "a password for tests";

let people = 0;

/** An e-mail that nobody has yet. */
export function newEmail(name: string): string {
  people += 1;
  return `${name}-${people}-${Date.now().toString(36)}@example.com`;
}

/** Invites somebody through the API, and gives the link. */
export async function invite(page: Page, email: string, role: string): Promise<string> {
  const { inviteMember } = await request<{ inviteMember: { token: string } }>(
    page,
    "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { token userErrors { message } } }",
    { input: { email, role } },
  );
  return `/invite?token=${inviteMember.token}`;
}

/** A second browser, whose complaints count like those of the first. */
export async function anotherBrowser(
  browser: Browser,
  baseURL: string | undefined,
  complaints: string[],
): Promise<Page> {
  const context = await browser.newContext({ ...(baseURL ? { baseURL } : {}) });
  const page = await context.newPage();
  watchComplaints(page, complaints);
  return page;
}

/** Accepts an invitation as somebody new. */
export async function acceptAsNewcomer(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel("Your name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account and join" }).click();
  await expect(page.getByRole("heading", { name: "Home", exact: true })).toBeVisible();
}

/** Opens a page of the organization area. */
export async function openOrgPage(page: Page, tab: string): Promise<void> {
  await page.goto("/organization");
  await page
    .getByRole("navigation", { name: "Organization" })
    .getByRole("link", { name: tab })
    .click();
}
