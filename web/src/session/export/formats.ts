import { isEphemeral, type SessionEvent } from "../feed/event";
import { feedbackWords } from "../feed/feedback";
import { foldEvent } from "../feed/fold";
import { type ChatItem, initialState, type ToolItem } from "../feed/state";

/** One event in each line, as the API gives them. */
export function toJsonLines(log: readonly SessionEvent[]): string {
  return log
    .filter((event) => !isEphemeral(event))
    .map(({ id, sequence, kind, turnId, occurredAt, data }) =>
      JSON.stringify({ id, sequence, kind, turnId, occurredAt, data }),
    )
    .join("\n")
    .concat("\n");
}

/** The conversation with its tool calls, as Markdown. */
export function toMarkdown(title: string, log: readonly SessionEvent[]): string {
  const { items, feedback } = log.reduce(foldEvent, initialState);
  const last = new Map(items.map(({ turnId }, index) => [turnId, index]));
  const sections = items.flatMap((item, index) => {
    const { turnId } = item;
    const said = turnId !== null && last.get(turnId) === index ? feedback[turnId] : undefined;
    return [...sectionOf(item), ...(said ?? []).map((each) => `> ${quoted(feedbackWords(each))}`)];
  });
  return `${[`# ${title}`, ...sections].join("\n\n")}\n`;
}

/** All lines of a text belong to the quotation that it is in. */
function quoted(text: string): string {
  return text.replaceAll(/\r?\n/g, "\n> ");
}

function sectionOf(item: ChatItem): string[] {
  switch (item.kind) {
    case "user":
      return [`## You · ${item.at}`, item.text];
    case "agent":
      if (item.text === "") return item.error ? [`**Failed:** ${item.error.message}`] : [];
      return [`## Agent · ${item.at}`, item.text];
    case "tool":
      return toolSections(item);
    case "notice":
      return item.notice.type === "failed" || item.notice.type === "sealed"
        ? [
            `**${item.notice.type === "failed" ? "Failed" : "Stopped"}:** ${item.notice.failure.message}`,
          ]
        : [];
  }
}

function toolSections({ toolName, arguments: args, result, error }: ToolItem): string[] {
  return [
    `### Tool call: ${toolName}`,
    fenced(args),
    ...(error === null ? [] : [`Error: ${error}`]),
    ...(result === null || result === undefined ? [] : ["Result:", fenced(result)]),
  ];
}

/** A block of code, whose fence is longer than any within it. */
function fenced(value: unknown): string {
  const [language, text] =
    typeof value === "string" ? ["", value] : ["json", JSON.stringify(value, null, 2)];
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
