import type { ToolItem } from "../feed/state";

/** What a person answered to a question of the agent; null for all other calls. */
export function answerOf({
  toolName,
  result,
}: Pick<ToolItem, "toolName" | "result">): string | null {
  if (toolName !== "ask_user" || typeof result !== "object" || result === null) return null;
  return "answer" in result && typeof result.answer === "string" ? result.answer : null;
}
