import { CircleCheck, PlugZap } from "lucide-react";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { FailureText } from "@/failures/FailureText";
import { TestProviderDocument, type TestProviderInput } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatDuration } from "@/ui/format";

interface KeyTestProps {
  /** What to try: a provider that is stored, what is to be changed of it, or a new one. */
  input: TestProviderInput;
  disabled?: boolean;
}

/** Asks the provider for its models. Nothing is stored. */
export function KeyTest({ input, disabled }: KeyTestProps) {
  const [{ data, error, fetching }, test] = useMutation(TestProviderDocument);
  const wanted = JSON.stringify(input);
  const [tested, setTested] = useState<string | null>(null);
  // An answer says nothing about a key that was typed after the question.
  const current = tested === wanted;
  const result = current && !fetching ? data?.testProvider : undefined;
  const refusal = result?.userErrors[0];

  return (
    <div className="space-y-2">
      <Button
        disabled={fetching || disabled}
        onClick={() => {
          setTested(wanted);
          void test({ input });
        }}
      >
        <PlugZap size={15} aria-hidden />
        {fetching ? "Testing…" : "Test this key"}
      </Button>
      <div aria-live="polite" className="empty:hidden">
        {current && !fetching && error && <ErrorNote>{describeError(error)}</ErrorNote>}
        {refusal && <ErrorNote>{refusal.message}</ErrorNote>}
        {result && !refusal && result.ok && (
          <p
            role="status"
            className="flex items-center gap-2 rounded-md border border-ok/25 bg-ok-soft px-3 py-2 text-sm text-ok"
          >
            <CircleCheck size={16} aria-hidden />
            <span>
              The key works
              {result.models !== null &&
                ` and the provider lists ${result.models} ${result.models === 1 ? "model" : "models"}`}
              , in {formatDuration(result.durationMs)}.
            </span>
          </p>
        )}
        {result && !refusal && !result.ok && (
          <ErrorNote>
            {result.error ? (
              <FailureText failure={result.error} />
            ) : (
              "The provider rejected the key without a reason."
            )}
          </ErrorNote>
        )}
      </div>
    </div>
  );
}
