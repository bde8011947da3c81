import type { FormEvent } from "react";
import { useQuery } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { CapabilityPicker } from "@/catalog/CapabilityPicker";
import { ClientTools } from "@/catalog/ClientTools";
import { AgentFormOptionsDocument } from "@/gql/graphql";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { AgentFields } from "./AgentFields";
import { AgentPreview } from "./AgentPreview";
import type { AgentDraft } from "./draft";
import { INPUT_NAMES } from "./fields";

export interface AgentEditorProps {
  draft: AgentDraft;
  onChange: (draft: AgentDraft) => void;
  onSubmit: () => void;
  refusals: readonly UserError[];
  problems: Partial<Record<keyof AgentDraft, string>>;
  /** Why the request itself failed. */
  failure: string | null;
  mode: "create" | "edit" | "read";
}

export function AgentEditor(props: AgentEditorProps) {
  const { draft, onChange, onSubmit, refusals, failure, mode } = props;
  const [{ data: options, error, fetching }, reload] = useQuery({
    query: AgentFormOptionsDocument,
  });

  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };

  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto grid max-w-7xl gap-x-10 gap-y-8 p-4 sm:p-6 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <form id="agent" onSubmit={submit} className="min-w-0">
          <fieldset
            disabled={mode === "read"}
            className="min-w-0 space-y-6 [&:disabled_button]:hidden"
          >
            <legend className="sr-only">Agent</legend>
            {failure && <ErrorNote>{failure}</ErrorNote>}
            {otherErrors(refusals, Object.values(INPUT_NAMES)).map((refusal) => (
              <ErrorNote key={refusal.code + refusal.message}>{refusal.message}</ErrorNote>
            ))}
            {error && (
              <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
                Harnesses, models and capabilities could not be loaded. {describeError(error)}
              </ErrorNote>
            )}
            <AgentFields {...props} options={options} />
            {fetching && !options && <Spinner />}
            {options && (
              <CapabilityPicker
                capabilities={options.capabilities}
                harnessId={draft.harnessId}
                picked={draft.capabilities}
                onChange={(capabilities) => onChange({ ...draft, capabilities })}
                refusals={refusals}
                problem={props.problems.capabilities}
              />
            )}
            <ClientTools
              tools={draft.clientTools}
              onChange={(clientTools) => onChange({ ...draft, clientTools })}
              errors={[
                ...(props.problems.clientTools ? [props.problems.clientTools] : []),
                ...fieldErrors(refusals, INPUT_NAMES.clientTools),
              ]}
            />
          </fieldset>
        </form>
        <AgentPreview draft={draft} />
      </div>
    </div>
  );
}
