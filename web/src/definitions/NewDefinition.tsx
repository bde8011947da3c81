import type { ReactNode } from "react";
import { useState } from "react";
import type { CombinedError } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { same } from "@/catalog/rebase";
import { Button } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { useStoredState } from "@/ui/useStoredState";
import type { EditorProps } from "./DefinitionEditor";
import { type DefinitionDraft, nameProblem } from "./draft";

interface NewDefinitionProps<Draft> {
  kind: "agent" | "harness";
  storageKey: string;
  /** What the form begins with. */
  empty: Draft;
  problemsOf: (draft: Draft) => Partial<Record<keyof Draft, string>>;
  fetching: boolean;
  error: CombinedError | undefined;
  /** Sends the draft; returns what is wrong with it, and null when it was made. */
  create: (draft: Draft) => Promise<readonly UserError[] | null>;
  editor: (props: EditorProps<Draft>) => ReactNode;
}

/** The page on which an agent or a harness is made. What was typed survives a reload. */
export function NewDefinition<Draft extends DefinitionDraft>(props: NewDefinitionProps<Draft>) {
  const { kind, empty, fetching, error } = props;
  const [stored, store] = useStoredState<Partial<Draft> | null>(
    sessionStorage,
    props.storageKey,
    null,
  );
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  // What an older dashboard has stored may lack what the form has got since.
  const draft = { ...empty, ...stored };
  const problems = { ...props.problemsOf(draft), ...nameProblem(draft.name) };
  const save = async () => {
    const refused = await props.create(draft);
    setRefusals(refused ?? []);
    if (refused === null) store(null);
  };
  return (
    <>
      <PageHeader title={`New ${kind}`}>
        {!same(draft, empty) && (
          <Button look="ghost" onClick={() => store(null)}>
            Clear
          </Button>
        )}
        <Button
          look="primary"
          type="submit"
          form={kind}
          disabled={fetching || Object.keys(problems).length > 0}
        >
          {fetching ? "Creating…" : `Create ${kind}`}
        </Button>
      </PageHeader>
      {props.editor({
        draft,
        onChange: store,
        onSubmit: () => void save(),
        refusals,
        problems,
        failure: error ? describeError(error) : null,
        mode: "create",
      })}
    </>
  );
}
