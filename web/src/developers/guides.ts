import { loadCode } from "@/api/reachable";

/** The guides that this build of the dashboard brings along, by the names of their files. Each is read when it is opened. */
const FILES = import.meta.glob<string>("../../../docs/*.md", { query: "?raw", import: "default" });

/** Those for users of the API, in the order in which one needs them. Others are reached by links from these. */
export const GUIDES = [
  {
    name: "api",
    title: "The API",
    about: "Sign in, send requests, read lists, and handle errors.",
  },
  {
    name: "subscriptions",
    title: "Live events",
    about: "Follow sessions live, and resume without losing an event.",
  },
  {
    name: "events",
    title: "Kinds of events",
    about: "What each event means and carries.",
  },
  {
    name: "approvals",
    title: "Approvals",
    about: "Decide which tool calls need a person, and who may approve them.",
  },
  {
    name: "waits",
    title: "Questions, callbacks and client tools",
    about: "Answer questions, call back, and run tools in your own program.",
  },
  {
    name: "hooks",
    title: "Hooks",
    about: "See, change or block what happens in a session.",
  },
  {
    name: "webhooks",
    title: "Webhooks",
    about: "Get events at an address of yours, signed and retried.",
  },
  {
    name: "budgets",
    title: "Budgets",
    about: "Limit what agents may spend, and what happens when they reach the limit.",
  },
  {
    name: "usage",
    title: "Usage",
    about: "What was spent, by day, model, agent, customer and more.",
  },
  {
    name: "providers",
    title: "Model providers",
    about: "Connect model providers, with keys and prices of your own.",
  },
  {
    name: "simulated-models",
    title: "Simulated models",
    about: "Try everything without a key or a network.",
  },
  {
    name: "limits",
    title: "Limits",
    about: "What an organization may have and do, and the error for one too many.",
  },
  {
    name: "security",
    title: "Security",
    about: "How data, keys and sign-ins are protected.",
  },
  {
    name: "glossary",
    title: "Glossary",
    about: "The terms of the API, the dashboard and these guides.",
  },
] as const;

/** Reads a guide; undefined when there is none of that name. */
export function readGuide(name: string): Promise<string> | undefined {
  const load = FILES[`../../../docs/${name}.md`];
  return load && loadCode(load);
}

/** Where a link in a guide leads within the dashboard; null when it leads to something that isn't here, such as a source file. */
export function guideLink(href: string): { name: string | null; hash: string } | null {
  const match = /^(?:([\w-]+)\.md)?(?:#([\w-]+))?$/.exec(href);
  if (!match) return null;
  return { name: match[1] ?? null, hash: match[2] ?? "" };
}

/** The id of a heading, by which links of Markdown know it. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}
