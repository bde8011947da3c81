import { createHash } from "node:crypto";
import { type DocumentNode, Kind } from "graphql";
import { afterEach, expect, it, vi } from "vitest";
import { documentIds } from "@/gql/documentIds";
import * as generated from "@/gql/graphql";
import manifest from "../../trusted/current.json";
import { extensionsFor, fetchByHash } from "./documents";

const texts: Record<string, string> = manifest;

afterEach(() => vi.unstubAllGlobals());

it("knows every operation of the dashboard, under the hash of its text", () => {
  const names = Object.values(generated)
    .filter((value): value is DocumentNode => typeof value === "object" && "definitions" in value)
    .flatMap(({ definitions }) => definitions)
    .flatMap((d) => (d.kind === Kind.OPERATION_DEFINITION && d.name ? [d.name.value] : []));
  expect(names.length).toBeGreaterThan(50);
  expect(Object.keys(documentIds).sort()).toEqual(names.sort());
  for (const name of names) {
    const hash = documentIds[name] ?? "";
    expect(texts[hash]).toMatch(new RegExp(`^(query|mutation|subscription) ${name}\\b`));
    expect(
      createHash("sha256")
        .update(texts[hash] ?? "")
        .digest("hex"),
    ).toBe(hash);
  }
});

const refusal = JSON.stringify({
  errors: [{ message: "No.", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }],
});

/** Plays a server, and keeps what it was sent. */
function serve(...answers: string[]) {
  const bodies: Record<string, unknown>[] = [];
  vi.stubGlobal("fetch", async (_url: string, init: RequestInit) => {
    bodies.push(JSON.parse(String(init.body)));
    const text = answers.shift() ?? "{}";
    return new Response(text, { headers: { "content-length": String(text.length) } });
  });
  return bodies;
}

const send = (request: object) =>
  fetchByHash("/graphql", { method: "POST", body: JSON.stringify(request) });

it("sends the hash in place of the text", async () => {
  const bodies = serve('{"data":{}}');
  await send({ query: "query Agents { x }", operationName: "Agents", variables: { first: 1 } });
  expect(bodies).toEqual([
    { operationName: "Agents", variables: { first: 1 }, extensions: extensionsFor("Agents") },
  ]);
});

it("sends the text to a server that doesn't know the hash", async () => {
  const bodies = serve(refusal, '{"data":{"answer":42}}');
  const request = { query: "query Agents { x }", operationName: "Agents" };
  const response = await send(request);
  expect(bodies).toHaveLength(2);
  expect(bodies[1]).toEqual(request);
  expect(await response.json()).toEqual({ data: { answer: 42 } });
});

it("leaves other answers as they are, and other documents to their text", async () => {
  const other = JSON.stringify({ errors: [{ message: "No.", extensions: { code: "FORBIDDEN" } }] });
  const bodies = serve(other, "{}");
  expect(await (await send({ query: "q", operationName: "Agents" })).text()).toBe(other);
  await send({ query: "q", operationName: "Unheard" });
  expect(bodies[1]).toEqual({ query: "q", operationName: "Unheard" });
  expect(bodies).toHaveLength(2);
});
