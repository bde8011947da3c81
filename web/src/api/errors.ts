import type { CombinedError } from "urql";
import type { UserErrorFieldsFragment } from "@/gql/graphql";

export type UserError = UserErrorFieldsFragment;

interface CodedError {
  message: string;
  extensions?: Record<string, unknown>;
}

export function codeOf(error: CodedError): string | null {
  const code = error.extensions?.code;
  return typeof code === "string" ? code : null;
}

export function hasCode(error: CombinedError | undefined, code: string): boolean {
  return error?.graphQLErrors.some((each) => codeOf(each) === code) ?? false;
}

/** What to tell the person, with the request id that finds the cause in the server's log. */
export function describeError(error: CombinedError): string {
  if (error.networkError) return "The server can't be reached. Check the connection and try again.";
  const first = error.graphQLErrors[0];
  if (!first) return "The server sent an unexpected response.";
  const requestId = first.extensions?.requestId;
  return typeof requestId === "string" ? `${first.message} (request ${requestId})` : first.message;
}

/** The messages for one field of a mutation's `input`, e.g. `fieldErrors(errors, "name")`. */
export function fieldErrors(errors: readonly UserError[], field: string): string[] {
  return errors.filter((error) => fieldOf(error) === field).map((error) => error.message);
}

/** Those that name none of the given fields, and so have to be shown for the form as a whole. */
export function otherErrors(errors: readonly UserError[], fields: readonly string[]): UserError[] {
  return errors.filter((error) => !fields.includes(fieldOf(error) ?? ""));
}

function fieldOf(error: UserError): string | undefined {
  return error.path[0] === "input" ? error.path[1] : error.path[0];
}
