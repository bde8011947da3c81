import { type FormEvent, type ReactNode, Suspense, useState } from "react";
import { useQuery } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { lazy } from "@/api/reachable";
import { CapabilityPicker } from "@/catalog/CapabilityPicker";
import {
  AgentFormOptionsDocument,
  type AgentFormOptionsQuery,
  type EffectiveConfigFieldsFragment,
} from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import type { Trial } from "@/trial/versions";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { Toggles } from "@/ui/Toggles";
import { useFocusProblem } from "@/ui/useFocusProblem";
import { DefinitionFields } from "./DefinitionFields";
import { type DefinitionDraft, inputName } from "./draft";

const TryPanel = lazy(() => import("@/trial/TryPanel"));

const BESIDE = ["Effective config", "Try it"] as const;

/** What an editor of an agent or a harness is given. */
export interface EditorProps<Draft> {
  draft: Draft;
  onChange: (draft: Draft) => void;
  onSubmit: () => void;
  refusals: readonly UserError[];
  problems: Partial<Record<keyof Draft, string>>;
  /** Why the request itself failed. */
  failure: string | null;
  mode: "create" | "edit" | "read";
}

/** What the fields of the form are made of. */
export interface Binding<Draft> {
  /** Ties a control to a field of the draft. */
  field: (key: keyof Draft & string) => {
    label: string;
    errors: string[];
    value: string;
    onChange: (value: string) => void;
  };
  options: AgentFormOptionsQuery | undefined;
  isNew: boolean;
}

interface DefinitionEditorProps<Draft> extends EditorProps<Draft> {
  kind: "agent" | "harness";
  labels: Record<keyof Draft, string>;
  /** The harness that it is based on; empty for none. */
  harnessId: string;
  /** What stands above the form. */
  notice?: ReactNode;
  /** The choice of the harness that it is based on. */
  basis: (binding: Binding<Draft>) => ReactNode;
  /** The short field beside the limit of iterations. */
  own: (binding: Binding<Draft>) => ReactNode;
  promptHint: string;
  modelHint: string;
  /** What comes after the capabilities. */
  more?: ReactNode;
  /** What the draft leads to, as far as it is known. */
  effective: EffectiveConfigFieldsFragment | null;
  preview: ReactNode;
  trial: Trial;
  /** The agent that a trial is of; null where there is none. */
  agentId: string | null;
}

/** The form of an agent or a harness, beside what it leads to. */
export function DefinitionEditor<Draft extends DefinitionDraft>(
  props: DefinitionEditorProps<Draft>,
) {
  const { kind, draft, onChange, onSubmit, refusals, problems, failure, mode } = props;
  const [{ data: options, error, fetching }, reload] = useQuery({
    query: AgentFormOptionsDocument,
  });
  const form = useFocusProblem({ refusals, failure });
  const [beside, setBeside] = useState<(typeof BESIDE)[number]>("Effective config");
  const [tried, setTried] = useState(false);
  const mayRun = useMay("SESSIONS_WRITE");
  const mayTry = mayRun && mode !== "read";
  const trying = mayTry && beside === "Try it";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  const binding: Binding<Draft> = {
    options,
    isNew: mode === "create",
    field: (key) => ({
      label: props.labels[key],
      errors: [...(problems[key] ? [problems[key]] : []), ...fieldErrors(refusals, inputName(key))],
      value: String(draft[key]),
      onChange: (value) => onChange({ ...draft, [key]: value }),
    }),
  };

  return (
    // What stands beside the form stays in sight, and is as high as this at most.
    <div className="min-h-0 flex-1 overflow-y-auto [container-type:size]">
      <div
        className={classes(
          "mx-auto grid max-w-7xl gap-x-10 gap-y-8 p-4 sm:p-6",
          trying ? "xl:grid-cols-2" : "xl:grid-cols-[minmax(0,1fr)_26rem]",
        )}
      >
        <form id={kind} ref={form} data-saves onSubmit={submit} className="min-w-0">
          {props.notice}
          <fieldset
            disabled={mode === "read"}
            className="min-w-0 space-y-6 [&:disabled_button]:hidden"
          >
            <legend className="sr-only">{kind === "agent" ? "Agent" : "Harness"}</legend>
            {failure && <ErrorNote>{failure}</ErrorNote>}
            {otherErrors(refusals, Object.keys(draft).map(inputName)).map((refusal) => (
              <ErrorNote key={refusal.code + refusal.message}>{refusal.message}</ErrorNote>
            ))}
            {error && (
              <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
                Harnesses, models and capabilities could not be loaded. {describeError(error)}
              </ErrorNote>
            )}
            <DefinitionFields
              {...props}
              {...binding}
              basis={props.basis(binding)}
              own={props.own(binding)}
            />
            {fetching && !options && <Spinner />}
            {options && (
              <CapabilityPicker
                capabilities={options.capabilities}
                harnessId={props.harnessId}
                effective={props.effective}
                models={options.models.nodes}
                picked={draft.capabilities}
                onChange={(capabilities) => onChange({ ...draft, capabilities })}
                refusals={refusals}
                problem={problems.capabilities}
              />
            )}
            {props.more}
          </fieldset>
        </form>
        <div className="flex min-w-0 flex-col gap-3 xl:sticky xl:top-6 xl:max-h-[calc(100cqh-3rem)] xl:self-start">
          {mayTry && (
            <Toggles
              label="Beside the form"
              options={BESIDE}
              words={(each) => each}
              pressed={(each) => each === beside}
              onPress={(each) => {
                setBeside(each);
                if (each === "Try it") setTried(true);
              }}
            />
          )}
          <div className="min-h-0 xl:overflow-y-auto">
            {mayTry && tried && (
              // A trial goes on while something else is looked at.
              <div hidden={!trying}>
                <Suspense fallback={<Spinner />}>
                  <TryPanel agentId={props.agentId} {...props.trial} />
                </Suspense>
              </div>
            )}
            {!trying && props.preview}
          </div>
        </div>
      </div>
    </div>
  );
}
