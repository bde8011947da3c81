import { type AnyVariables, type TypedDocumentNode, useMutation } from "urql";
import { describeError, type UserError } from "./errors";

/** How a request stands that changes something. */
export interface Attempt {
  busy: boolean;
  refusals: readonly UserError[];
  /** Why the request itself failed. */
  failure: string | null;
}

/** What the one field of a mutation answers. */
export interface Payload {
  userErrors: readonly UserError[];
}

export interface Action<Variables, Answer> extends Attempt {
  /** Returns the answer; null when the request failed or was refused. */
  run: (variables: Variables) => Promise<Answer | null>;
}

/** A mutation of one field, whose refusals are shown where its button is. */
export function useAction<Data extends Record<string, Payload>, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
): Action<Variables, Data[keyof Data]> {
  const [{ fetching, error, data }, execute] = useMutation(document);
  return {
    run: async (variables) => {
      const payload = payloadOf((await execute(variables)).data);
      return payload && payload.userErrors.length === 0 ? payload : null;
    },
    busy: fetching,
    refusals: payloadOf(data)?.userErrors ?? [],
    failure: error ? describeError(error) : null,
  };
}

/** Why an attempt failed, in one line; null when it did not. */
export function problemOf({ failure, refusals }: Pick<Attempt, "failure" | "refusals">) {
  return failure ?? refusals[0]?.message ?? null;
}

export function payloadOf<Data extends object>(
  data: Data | null | undefined,
): Data[keyof Data] | null {
  return data ? (Object.values(data)[0] ?? null) : null;
}
