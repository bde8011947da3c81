const MOST_CHARACTERS = 60;

/** What a message names the session that begins with it: its first line, cut short between words; null for a message without text. */
export function titleOf(text: string): string | null {
  const line = text.trim().split("\n", 1)[0]?.replace(/\s+/g, " ") ?? "";
  const characters = [...line];
  if (characters.length <= MOST_CHARACTERS) return line || null;
  const cut = characters.slice(0, MOST_CHARACTERS).join("");
  const lastSpace = cut.lastIndexOf(" ");
  // One long word, such as an address, is cut anywhere.
  return `${lastSpace > MOST_CHARACTERS / 2 ? cut.slice(0, lastSpace) : cut}…`;
}
