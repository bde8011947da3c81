import { describe, expect, it } from "vitest";
import type { ModelRowFragment, ProviderRowFragment } from "@/gql/graphql";
import { PROVIDER_KINDS } from "./kinds";
import {
  createModelInput,
  draftOfModel,
  emptyModel,
  modelProblems,
  priceLine,
  splitOffered,
  updateModelInput,
} from "./modelDraft";
import {
  createProviderInput,
  draftOfProvider,
  emptyProvider,
  providerProblems,
  testProviderInput,
  updateProviderInput,
} from "./providerDraft";

const provider: ProviderRowFragment = {
  id: "prov_1",
  name: "anthropic",
  kind: "ANTHROPIC",
  baseUrl: null,
  hasCredentials: true,
  lifecycle: "ACTIVE",
  createdAt: "2026-11-20T10:00:00.000Z",
};

const model: ModelRowFragment = {
  id: "model_1",
  name: "claude-x",
  displayName: "Claude X",
  enabled: true,
  contextWindowTokens: 200000,
  maxOutputTokens: null,
  price: { input: "3", output: "15", cacheRead: "0.3", cacheWrite: null },
};

describe("a provider's form", () => {
  it("never holds a key that is stored, and sends one only when it was typed", () => {
    const draft = draftOfProvider(provider);
    expect(draft.apiKey).toBe("");
    expect(updateProviderInput(draft, provider)).toBeNull();
    expect(updateProviderInput({ ...draft, apiKey: " sk-1\n" }, provider)).toEqual({
      apiKey: "sk-1",
    });
  });

  it("takes the stored key away only on request, and not when a new one is given", () => {
    const draft = { ...draftOfProvider(provider), removeKey: true };
    expect(updateProviderInput(draft, provider)).toEqual({ apiKey: null });
    expect(updateProviderInput({ ...draft, apiKey: "sk-2" }, provider)).toEqual({ apiKey: "sk-2" });
  });

  it("clears a base URL with null and leaves alone what did not change", () => {
    const stored = { ...provider, baseUrl: "https://proxy.example.com" };
    const draft = { ...draftOfProvider(stored), baseUrl: "" };
    expect(updateProviderInput(draft, stored)).toEqual({ baseUrl: null });
  });

  it("tests a stored provider with what differs, and a new one with all", () => {
    const draft = { ...draftOfProvider(provider), apiKey: "sk-3" };
    expect(testProviderInput(draft, provider)).toEqual({ id: "prov_1", apiKey: "sk-3" });
    expect(testProviderInput(draft, null)).toEqual({
      kind: "ANTHROPIC",
      baseUrl: null,
      apiKey: "sk-3",
    });
  });

  it("asks for an address where the kind has none of its own", () => {
    const draft = { ...emptyProvider, name: "local", kind: "OPENAI_COMPATIBLE" as const };
    expect(providerProblems(draft)).toHaveProperty("baseUrl");
    expect(providerProblems({ ...draft, baseUrl: "ftp://x" })).toHaveProperty("baseUrl");
    expect(providerProblems({ ...draft, baseUrl: "http://127.0.0.1:1234/v1" })).toEqual({});
  });

  it("sends no address and no key for a kind that takes none", () => {
    const draft = {
      ...emptyProvider,
      name: "sim",
      kind: "SIMULATED" as const,
      apiKey: "left over",
    };
    expect(createProviderInput(draft)).toMatchObject({ apiKey: null, baseUrl: null });
  });
});

it("tells what simulated models cost, and the unit of prices", () => {
  expect(PROVIDER_KINDS.SIMULATED.about).not.toContain("costs nothing");
  const price = { input: "0.1", output: "0.4", cacheRead: null, cacheWrite: null };
  expect(priceLine({ __typename: "ModelPrice", ...price } as never)).toBe(
    "$0.10 in · $0.40 out per 1M tokens",
  );
});

describe("a model's form", () => {
  it("keeps prices as the decimals that were typed", () => {
    const draft = { ...emptyModel, name: "m", priceInput: "0.1", priceOutput: "0.30" };
    expect(createModelInput(draft, "prov_1").price).toEqual({
      input: "0.1",
      output: "0.30",
      cacheRead: null,
      cacheWrite: null,
    });
  });

  it("reads numbers with separators and refuses what is none", () => {
    const draft = { ...emptyModel, name: "m", contextWindowTokens: "200,000" };
    expect(createModelInput(draft, "p").contextWindowTokens).toBe(200_000);
    expect(modelProblems({ ...draft, contextWindowTokens: "many" })).toHaveProperty(
      "contextWindowTokens",
    );
    expect(modelProblems({ ...draft, priceInput: "1e3", priceOutput: "1" })).toHaveProperty(
      "priceInput",
    );
  });

  it("wants a price whole or not at all", () => {
    expect(modelProblems({ ...emptyModel, name: "m", priceCacheRead: "1" })).toMatchObject({
      priceInput: expect.any(String),
      priceOutput: expect.any(String),
    });
  });

  it("sends only what differs from what is stored", () => {
    const draft = draftOfModel(model);
    expect(updateModelInput(draft, model)).toBeNull();
    expect(updateModelInput({ ...draft, maxOutputTokens: "8000" }, model)).toEqual({
      maxOutputTokens: 8000,
    });
    const free = { priceInput: "", priceOutput: "", priceCacheRead: "", priceCacheWrite: "" };
    expect(updateModelInput({ ...draft, ...free }, model)).toEqual({ price: null });
  });
});

describe("splitOffered", () => {
  it("leaves out what was added already", () => {
    const { fresh, present } = splitOffered([model, { ...model, name: "other" }], [model]);
    expect(fresh.map(({ name }) => name)).toEqual(["other"]);
    expect(present).toBe(1);
  });
});
