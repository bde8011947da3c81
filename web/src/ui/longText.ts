const MAX_CHARS = 2000;
const MAX_LINES = 30;
/** What is cut off must be worth a click. */
const SLACK = 1.25;

/** The beginning of a long text, which ends with an ellipsis; a text that is not long stays whole. */
export function beginningOf(text: string): string {
  const lines = text.split("\n", MAX_LINES * SLACK + 1);
  const tooManyLines = lines.length > MAX_LINES * SLACK;
  if (!tooManyLines && text.length <= MAX_CHARS * SLACK) return text;
  const beginning = tooManyLines ? lines.slice(0, MAX_LINES).join("\n") : text;
  // A character outside of the basic plane takes two places, which must not be parted.
  return `${beginning.slice(0, MAX_CHARS).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
