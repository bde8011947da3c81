import { Link } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { useQuery } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { CapabilityPicker } from "@/catalog/CapabilityPicker";
import { AgentFormOptionsDocument } from "@/gql/graphql";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { draftProblems, type HarnessDraft, INPUT_NAMES } from "./draft";
import { HarnessFields } from "./HarnessFields";
import { HarnessPreview } from "./HarnessPreview";

export interface HarnessEditorProps {
  draft: HarnessDraft;
  onChange: (draft: HarnessDraft) => void;
  onSubmit: () => void;
  refusals: readonly UserError[];
  /** Why the request itself failed. */
  failure: string | null;
  mode: "create" | "edit" | "read";
  /** The harness that is shown; null for one that does not exist yet. */
  saved: { id: string; builtIn: boolean; revision: number } | null;
}

export function HarnessEditor(props: HarnessEditorProps) {
  const { draft, onChange, onSubmit, refusals, failure, mode, saved } = props;
  const [{ data: options, error, fetching }, reload] = useQuery({
    query: AgentFormOptionsDocument,
  });
  const problems = draftProblems(draft);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };

  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto grid max-w-7xl gap-x-10 gap-y-8 p-4 sm:p-6 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <form id="harness" onSubmit={submit} className="min-w-0">
          {saved?.builtIn && (
            <p className="mb-5 rounded-md border border-line bg-sunken px-3 py-2 text-sm text-ink-2">
              This harness ships with the server and can't be changed.{" "}
              <Link
                to="/harnesses/new"
                search={{ parent: saved.id }}
                className="font-medium underline underline-offset-2"
              >
                Create a harness from it
              </Link>{" "}
              to add to it.
            </p>
          )}
          <fieldset
            disabled={mode === "read"}
            className="min-w-0 space-y-6 [&:disabled_button]:hidden"
          >
            <legend className="sr-only">Harness</legend>
            {failure && <ErrorNote>{failure}</ErrorNote>}
            {otherErrors(refusals, Object.values(INPUT_NAMES)).map((refusal) => (
              <ErrorNote key={refusal.code + refusal.message}>{refusal.message}</ErrorNote>
            ))}
            {error && (
              <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
                Harnesses, models and capabilities could not be loaded. {describeError(error)}
              </ErrorNote>
            )}
            <HarnessFields
              draft={draft}
              onChange={onChange}
              errorsOf={(field) => [
                ...(problems[field] ? [problems[field]] : []),
                ...fieldErrors(refusals, INPUT_NAMES[field]),
              ]}
              isNew={mode === "create"}
              options={options}
            />
            {fetching && !options && <Spinner />}
            {options && (
              <CapabilityPicker
                capabilities={options.capabilities}
                harnessId={draft.parentId}
                picked={draft.capabilities}
                onChange={(capabilities) => onChange({ ...draft, capabilities })}
                refusals={refusals}
                problem={problems.capabilities}
              />
            )}
          </fieldset>
        </form>
        <HarnessPreview saved={saved} parentId={draft.parentId} />
      </div>
    </div>
  );
}
