import { Suspense, useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { lazy } from "@/api/reachable";
import { ResolveWaitDocument, type WaitResolution } from "@/gql/graphql";
import { CopyBlock } from "@/ui/CopyBlock";
import { ErrorNote } from "@/ui/ErrorNote";
import { JsonBlock } from "@/ui/JsonBlock";
import type { WaitProps } from "./wait";

const REFUSED: Record<Exclude<WaitResolution, "ACCEPTED">, string> = {
  ALREADY_RESOLVED: "This callback was resolved already.",
  UNKNOWN: "The token has expired: the turn no longer waits for it.",
};

const ResultForm = lazy(() => import("./ResultForm"));

/** A report from an outside system, which needs the token for it. */
export function Callback({ wait, onResolved }: WaitProps) {
  const [{ fetching, error }, resolve] = useMutation(ResolveWaitDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { token } = wait;
  return (
    <>
      {wait.arguments !== null && <JsonBlock value={wait.arguments} />}
      {token === null && (
        <p className="text-xs text-ink-2">Only people who can write to sessions see its token.</p>
      )}
      {token !== null && (
        <>
          <div>
            <h4 className="mb-1 text-2xs font-medium text-ink-3">
              Token: works once, for anyone who has it
            </h4>
            <CopyBlock text={token} label="Copy token" />
          </div>
          <div>
            <h4 className="mb-1 text-2xs font-medium text-ink-3">Request of the external system</h4>
            <CopyBlock text={reportRequest(token)} label="Copy request" />
          </div>
          {refusal && <ErrorNote>{refusal}</ErrorNote>}
          <Suspense>
            <ResultForm
              storageKey={`ostler.result.${wait.id}`}
              state={{
                busy: fetching,
                failure: error ? describeError(error) : null,
                refusals: [],
              }}
              onSubmit={async (outcome) => {
                const { data } = await resolve(
                  "error" in outcome
                    ? { token, errorCode: "failed", errorMessage: outcome.error }
                    : { token, value: outcome.result },
                );
                const resolution = data?.resolveWait.resolution;
                if (resolution === undefined) return false;
                setRefusal(resolution === "ACCEPTED" ? null : REFUSED[resolution]);
                if (resolution === "ACCEPTED") onResolved();
                return resolution === "ACCEPTED";
              }}
            />
          </Suspense>
        </>
      )}
    </>
  );
}

function reportRequest(token: string): string {
  return [
    `curl ${location.origin}/v1/waits/${token} \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"value": {"ok": true}}'`,
  ].join("\n");
}
