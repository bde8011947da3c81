import { type FormEvent, useMemo } from "react";
import type { UserError } from "@/api/errors";
import { readObject, writeJson } from "@/forms/json";
import SettingsEditor from "@/forms/SettingsEditor";
import { Button } from "@/ui/Button";
import { useStoredState } from "@/ui/useStoredState";
import { argumentsSchema } from "./argumentsSchema";

interface ArgumentsFormProps {
  /** Where what is typed is kept over a reload. */
  storageKey: string;
  initial: unknown;
  busy: boolean;
  /** What the server says is wrong with them. */
  refusals: readonly UserError[];
  onSubmit: (value: unknown) => void;
  onCancel: () => void;
}

/** Other arguments for a call, as a form or as JSON. */
export default function ArgumentsForm({
  storageKey,
  initial,
  busy,
  refusals,
  onSubmit,
  onCancel,
}: ArgumentsFormProps) {
  const [stored, store] = useStoredState<string | null>(sessionStorage, storageKey, null);
  const schema = useMemo(() => argumentsSchema(initial), [initial]);
  const text = stored ?? writeJson(initial);
  const read = readObject(text);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if ("value" in read) onSubmit(read.value);
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <SettingsEditor
        label="Arguments"
        short="Arguments"
        schema={schema}
        text={text}
        onChange={store}
        errors={refusals.map(({ path, message }) => ({
          path: path.slice(path.indexOf("arguments") + 1),
          message,
        }))}
        references={{}}
      />
      <div className="flex flex-wrap gap-2">
        <Button look="primary" type="submit" disabled={busy || "problem" in read}>
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
