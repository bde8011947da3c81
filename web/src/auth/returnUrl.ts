/** The page to show after sign-in. Only paths of this site count, so that a link can't send anyone elsewhere. */
export function safeReturnUrl(next: unknown): string {
  if (typeof next !== "string" || !next.startsWith("/") || next.startsWith("//")) return "/";
  // Browsers read a backslash as a slash.
  if (next.includes("\\") || next.startsWith("/sign-in")) return "/";
  return next;
}
