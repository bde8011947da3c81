import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { isFields } from "./schema";

export type Read = { value: unknown } | { problem: string };

/** Reads JSON that somebody has typed. A problem says in which line it is. */
export function readJson(text: string): Read {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { disallowComments: true });
  const [first] = errors;
  if (first) {
    const line = text.slice(0, first.offset).split("\n").length;
    const what = PROBLEMS[printParseErrorCode(first.error)] ?? "this is not JSON";
    return { problem: `Line ${line}: ${what}.` };
  }
  return { value };
}

/** Reads an object, as settings and arguments are; an empty text is the empty one. */
export function readObject(text: string): Read {
  if (text.trim() === "") return { value: {} };
  const read = readJson(text);
  if ("value" in read && !isFields(read.value)) {
    return { problem: "An object is expected, such as {}." };
  }
  return read;
}

export function writeJson(value: unknown): string {
  return JSON.stringify(value ?? {}, null, 2);
}

const PROBLEMS: Record<string, string> = {
  InvalidSymbol: "a value is not JSON; put text in double quotes",
  InvalidNumberFormat: "a number is not written as JSON has it",
  PropertyNameExpected: "the name of a field is expected, in double quotes",
  ValueExpected: "a value is expected",
  ColonExpected: "a colon is expected",
  CommaExpected: "a comma is expected",
  CloseBraceExpected: "a closing } is expected",
  CloseBracketExpected: "a closing ] is expected",
  EndOfFileExpected: "there is something after the end",
  InvalidCommentToken: "JSON has no comments",
  UnexpectedEndOfString: "a text has no closing quote",
  InvalidEscapeCharacter: "a text has a backslash with nothing to escape",
  InvalidUnicode: "a text has an incomplete \\u escape",
  InvalidCharacter: "a text has a character that must be escaped",
};
