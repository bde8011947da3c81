import { loadCode } from "@/api/reachable";

/** The guides that this build of the dashboard brings along, by the names of their files. Each is read when it is opened. */
const FILES = import.meta.glob<string>("../../../docs/*.md", { query: "?raw", import: "default" });

/** Those for users of the API, in the order in which one needs them. Others are reached by links from these. */
export const GUIDES = [
  ["api", "The API"],
  ["subscriptions", "Live events"],
  ["events", "Kinds of events"],
  ["approvals", "Approvals"],
  ["waits", "Questions, callbacks and client tools"],
  ["hooks", "Hooks"],
  ["webhooks", "Webhooks"],
  ["budgets", "Budgets"],
  ["usage", "Usage"],
  ["providers", "Model providers"],
  ["simulated-models", "Simulated models"],
  ["limits", "Limits"],
  ["security", "Security"],
  ["glossary", "Glossary"],
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
