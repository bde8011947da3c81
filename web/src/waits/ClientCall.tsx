import { useAction } from "@/api/useAction";
import { SubmitToolResultsDocument } from "@/gql/graphql";
import { JsonBlock } from "@/ui/JsonBlock";
import { ResultForm } from "./ResultForm";
import { WhyNot } from "./WhyNot";
import type { WaitProps } from "./wait";

/** A call that the caller's own program runs; a person can bring its result as well. */
export function ClientCall({ wait, onResolved }: WaitProps) {
  const submit = useAction(SubmitToolResultsDocument);
  const { turn, toolCallId } = wait;
  return (
    <>
      <div>
        <h4 className="mb-1 text-2xs font-medium text-ink-3">Arguments</h4>
        <JsonBlock value={wait.arguments} />
      </div>
      <WhyNot wait={wait} />
      {wait.viewerMayResolve && turn && toolCallId !== null && (
        <ResultForm
          storageKey={`ostler.result.${wait.id}`}
          state={submit}
          onSubmit={async (outcome) => {
            const results = [{ toolCallId, ...outcome }];
            const done = await submit.run({ input: { turnId: turn.id, results } });
            if (done) onResolved();
            return done !== null;
          }}
        />
      )}
    </>
  );
}
