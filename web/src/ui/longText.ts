const MOST_CHARACTERS = 2000;
/** What a reader sees of something long at first. */
export const MOST_LINES = 30;
/** What is cut off must be worth a click. */
const SLACK = 1.25;

/** The beginning of a long text, which ends with an ellipsis; a text that is not long stays whole. */
export function beginningOf(text: string): string {
  const lines = text.split("\n", MOST_LINES * SLACK + 1);
  const tooManyLines = lines.length > MOST_LINES * SLACK;
  if (!tooManyLines && text.length <= MOST_CHARACTERS * SLACK) return text;
  const beginning = tooManyLines ? lines.slice(0, MOST_LINES).join("\n") : text;
  // A character outside of the basic plane takes two places, which must not be parted.
  return `${beginning.slice(0, MOST_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
