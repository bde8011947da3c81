/** What a reader sees of something long at first. */
export const MOST_LINES = 30;
const MOST_CHARACTERS = 4000;

/** The beginning of a text, all of it when it is short, and how long it is. */
export function cutText(text: string): { head: string; lines: number; characters: number } {
  const lines = text.split("\n");
  const head = lines.slice(0, MOST_LINES).join("\n").slice(0, MOST_CHARACTERS);
  return { head, lines: lines.length, characters: text.length };
}
