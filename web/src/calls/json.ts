export type JsonText = { ok: true; value: unknown } | { ok: false; problem: string };

/** Reads JSON that a person has typed. */
export function readJson(text: string): JsonText {
  if (text.trim() === "") return { ok: false, problem: "Write JSON here, for example {}." };
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: `This is not JSON: ${detail}` };
  }
}

export function writeJson(value: unknown): string {
  return JSON.stringify(value ?? {}, null, 2);
}

/** Whether two values are the same JSON, in whatever order their fields are. */
export function sameJson(left: unknown, right: unknown): boolean {
  return canonical(left) === canonical(right);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(
          Object.entries(each).toSorted(([left], [right]) => (left < right ? -1 : 1)),
        )
      : each,
  );
}
