/** Says what is wrong with a limit of iterations as it was typed; null when nothing is. */
export function iterationsProblem(text: string): string | null {
  if (text === "" || /^[1-9]\d{0,6}$/.test(text.trim())) return null;
  return "Give a whole number above zero, or leave it empty to inherit it.";
}

export function iterationsOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text.trim());
}
