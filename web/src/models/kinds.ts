import type { ProviderKind } from "@/gql/graphql";

interface KindFacts {
  label: string;
  /** What the kind is for, in one line. */
  about: string;
  baseUrl: "none" | "optional" | "required";
  /** Where requests go when no base URL is given, or what one looks like. */
  placeholder: string;
  takesKey: boolean;
  /** The server can ask such a provider which models it has. */
  listsModels: boolean;
}

export const PROVIDER_KINDS: Record<ProviderKind, KindFacts> = {
  ANTHROPIC: {
    label: "Anthropic",
    about: "Claude models, over the Messages API.",
    baseUrl: "optional",
    placeholder: "https://api.anthropic.com",
    takesKey: true,
    listsModels: true,
  },
  OPENAI: {
    label: "OpenAI",
    about: "GPT and reasoning models, over the Responses API.",
    baseUrl: "optional",
    placeholder: "https://api.openai.com/v1",
    takesKey: true,
    listsModels: true,
  },
  GEMINI: {
    label: "Google Gemini",
    about: "Gemini models, over the Gemini API.",
    baseUrl: "optional",
    placeholder: "https://generativelanguage.googleapis.com",
    takesKey: true,
    listsModels: true,
  },
  OPENAI_COMPATIBLE: {
    label: "OpenAI-compatible",
    about: "Any server that speaks Chat Completions: gateways, or models that you run yourself.",
    baseUrl: "required",
    placeholder: "https://models.example.com/v1",
    takesKey: true,
    listsModels: true,
  },
  SIMULATED: {
    label: "Simulated",
    about:
      "Built in for trying things out. Needs no API key; its prices are made up, and no one is charged.",
    baseUrl: "none",
    placeholder: "",
    takesKey: false,
    listsModels: false,
  },
};

/** In the order in which they are offered. */
export const KINDS = Object.keys(PROVIDER_KINDS) as ProviderKind[];
