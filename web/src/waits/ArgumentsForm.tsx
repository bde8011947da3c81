import { type FormEvent, useState } from "react";
import { readJson, writeJson } from "@/calls/json";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { useStoredState } from "@/ui/useStoredState";

interface ArgumentsFormProps {
  /** Where what is typed is kept over a reload. */
  storageKey: string;
  initial: unknown;
  busy: boolean;
  /** What the server says is wrong with them. */
  refusals: readonly string[];
  onSubmit: (value: unknown) => void;
  onCancel: () => void;
}

/** Other arguments for a call, as JSON. */
export function ArgumentsForm({
  storageKey,
  initial,
  busy,
  refusals,
  onSubmit,
  onCancel,
}: ArgumentsFormProps) {
  const [stored, store] = useStoredState<string | null>(sessionStorage, storageKey, null);
  const [problem, setProblem] = useState<string | null>(null);
  const text = stored ?? writeJson(initial);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readJson(text);
    setProblem(read.ok ? null : read.problem);
    if (read.ok) onSubmit(read.value);
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <Field
        label="Arguments as JSON"
        hint="The call runs with these instead."
        errors={problem === null ? refusals : [problem]}
      >
        {(control) => (
          <textarea
            {...control}
            rows={6}
            spellCheck={false}
            className="control field-sizing-content max-h-80 min-h-28 font-mono text-xs leading-5"
            value={text}
            onChange={(event) => {
              store(event.target.value);
              setProblem(null);
            }}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" type="submit" disabled={busy}>
          Approve with these arguments
        </Button>
        <Button
          look="ghost"
          onClick={() => {
            store(null);
            onCancel();
          }}
        >
          Cancel
        </Button>
      </div>
    </form>
  );
}
