import { ChevronRight } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Attempt } from "@/api/useAction";
import { readJson } from "@/forms/json";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Field } from "@/ui/Field";
import { Problems } from "@/ui/Problems";
import { useStoredState } from "@/ui/useStoredState";

export type Outcome = { result: unknown } | { error: string };

interface ResultFormProps {
  storageKey: string;
  state: Attempt;
  /** Tells whether it was accepted. */
  onSubmit: (outcome: Outcome) => Promise<boolean>;
}

/** Brings the result of a call by hand. */
export default function ResultForm({ storageKey, state, onSubmit }: ResultFormProps) {
  const [text, setText] = useStoredState(sessionStorage, storageKey, "");
  const [failed, setFailed] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  // What was begun before a reload is shown; clearing it must not close the form.
  const [begun] = useState(text !== "");

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const read = failed ? null : readJson(text);
    setProblem(read && "problem" in read ? read.problem : null);
    if (read && "problem" in read) return;
    const outcome = read ? { result: read.value } : { error: text.trim() };
    if (await onSubmit(outcome)) setText("");
  };

  return (
    <details className="group" open={begun}>
      <summary className="inline-flex items-center gap-1 rounded text-xs text-ink-2 hover:text-ink">
        <ChevronRight size={13} className="transition-transform group-open:rotate-90" aria-hidden />
        Submit a result by hand
      </summary>
      <form onSubmit={(event) => void submit(event)} className="mt-2 space-y-2">
        <Problems of={state} />
        <fieldset className="inline-flex rounded-md bg-hover p-0.5">
          <legend className="sr-only">Outcome</legend>
          {[false, true].map((each) => (
            <label
              key={String(each)}
              className={classes(
                "cursor-pointer rounded px-2 py-0.5 text-xs has-focus-visible:outline-2 has-focus-visible:outline-accent",
                failed === each ? "bg-raised font-medium shadow-card" : "text-ink-2",
              )}
            >
              <input
                type="radio"
                name={storageKey}
                className="sr-only"
                checked={failed === each}
                onChange={() => {
                  setFailed(each);
                  setProblem(null);
                }}
              />
              {each ? "It failed" : "It worked"}
            </label>
          ))}
        </fieldset>
        <Field
          label={failed ? "Error for the agent" : "Result as JSON"}
          errors={problem === null ? [] : [problem]}
        >
          {(control) => (
            <textarea
              {...control}
              rows={4}
              spellCheck={failed}
              placeholder={failed ? "What went wrong" : '{"answer": 42}'}
              className={classes("control", !failed && "font-mono text-xs leading-5")}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setProblem(null);
              }}
            />
          )}
        </Field>
        <Button look="primary" type="submit" disabled={state.busy || text.trim() === ""}>
          Submit result
        </Button>
      </form>
    </details>
  );
}
