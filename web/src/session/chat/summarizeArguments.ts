const MOST = 80;

/** One line that tells one call of a tool from another: its first short text, which is most often a path or a query. */
export function summarizeArguments(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const texts = Object.values(value).filter(
    (each): each is string | number => typeof each === "string" || typeof each === "number",
  );
  const shortest = texts.map(String).find((text) => text.length <= MOST && !text.includes("\n"));
  return (
    shortest ??
    String(texts[0] ?? "")
      .replaceAll("\n", " ")
      .slice(0, MOST)
  );
}
