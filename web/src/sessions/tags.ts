/** The tags of a text that has one on each line: each once. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split("\n").map((tag) => tag.trim()))].filter((tag) => tag !== "");
}
