import { type AnyVariables, type TypedDocumentNode, useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";

interface Action<Variables> {
  /** Tells whether it worked. */
  run: (variables: Variables) => Promise<boolean>;
  busy: boolean;
  refusals: readonly UserError[];
  /** Why the request itself failed. */
  failure: string | null;
}

/** A mutation whose refusals are shown where its button is. */
export function useAction<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  refusalsOf: (data: Data) => readonly UserError[],
): Action<Variables> {
  const [{ fetching, error, data }, run] = useMutation(document);
  return {
    run: async (variables) => {
      const answer = await run(variables);
      return answer.data !== undefined && refusalsOf(answer.data).length === 0;
    },
    busy: fetching,
    refusals: data ? refusalsOf(data) : [],
    failure: error ? describeError(error) : null,
  };
}
