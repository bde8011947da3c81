import { Suspense } from "react";
import { lazy } from "@/api/reachable";
import { useAction } from "@/api/useAction";
import { CallData } from "@/calls/CallData";
import { SubmitToolResultsDocument } from "@/gql/graphql";
import { WhyNot } from "./WhyNot";
import type { WaitProps } from "./wait";

const ResultForm = lazy(() => import("./ResultForm"));

/** A call that the caller's own program runs; a person can bring its result as well. */
export function ClientCall({ wait, onResolved }: WaitProps) {
  const submit = useAction(SubmitToolResultsDocument);
  const { turn, toolCallId } = wait;
  return (
    <>
      <CallData title="Arguments" toolName={wait.toolName} value={wait.arguments} />
      <WhyNot wait={wait} />
      {wait.viewerMayResolve && turn && toolCallId !== null && (
        <Suspense>
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
        </Suspense>
      )}
    </>
  );
}
