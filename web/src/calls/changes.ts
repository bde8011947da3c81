import { type DiffLine, lineDiff } from "@/diff/lineDiff";
import { sameJson } from "./sameJson";

export interface FieldChange {
  readonly name: string;
  readonly lines: readonly DiffLine[];
}

/** What differs between the arguments that an agent has asked for and those that a person has put in their place. */
export function argumentChanges(before: unknown, after: unknown): FieldChange[] {
  const left = fieldsOf(before);
  const right = fieldsOf(after);
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((name) => {
    const [was, is] = [left[name], right[name]];
    if (sameJson(was, is)) return [];
    // Texts are compared as texts. Beside another type their quotes tell what they are.
    const asText = [was, is].every((each) => each === undefined || typeof each === "string");
    return [{ name, lines: lineDiff(textOf(was, asText), textOf(is, asText)) }];
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown, asText: boolean): string {
  if (value === undefined) return "";
  return asText ? String(value) : JSON.stringify(value, null, 2);
}
