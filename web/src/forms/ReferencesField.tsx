import { X } from "lucide-react";
import { useId, useState } from "react";
import { Button } from "@/ui/Button";
import { Select } from "@/ui/Field";
import { type Referable, useForm } from "./context";
import { errorsAt, hasErrors } from "./errors";
import { type FieldProps, useLook } from "./SchemaField";
import { resolve } from "./schema";

/** Names of things, picked from those that there are or typed, as a pattern may be. */
export function ReferencesField(props: FieldProps) {
  const { schema, value, path, onChange } = props;
  const { root, references, errors: all } = useForm();
  const { label, hint, errors } = useLook(props);
  const [typed, setTyped] = useState("");
  const id = useId();
  const { "x-reference": kind = "tool", "x-labels": groups = {} } = resolve(
    schema.items ?? {},
    root,
  );
  const there = references[kind] ?? [];
  const names = (value ?? []) as string[];
  const left = there.filter(({ name }) => !names.includes(name));
  const add = (more: readonly string[]) => onChange([...new Set([...names, ...more])]);
  const addTyped = () => {
    if (typed.trim() === "") return;
    add([typed.trim()]);
    setTyped("");
  };
  const wrong = [
    ...errors,
    ...names.flatMap((_, index) => errorsAt(all, [...path, String(index)])),
  ];
  return (
    <fieldset className="min-w-0 sm:col-span-2" aria-describedby={id}>
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      {names.length > 0 && (
        <ul className="mb-2 flex flex-wrap gap-1.5">
          {names.map((name, index) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: names may be there twice.
              key={index}
              className={`inline-flex max-w-full items-center gap-1 rounded-md border py-0.5 pr-0.5 pl-2 font-mono text-xs ${
                hasErrors(all, [...path, String(index)])
                  ? "border-bad text-bad"
                  : "border-line-strong"
              }`}
            >
              <span className="truncate" title={groups[name] && membersOf(name, there)}>
                {name === "*" ? "any tool" : (groups[name] ?? name)}
              </span>
              <button
                type="button"
                aria-label={`Remove ${name}`}
                className="rounded p-1 text-ink-3 hover:bg-hover hover:text-ink"
                onClick={() => {
                  const others = names.filter((_, each) => each !== index);
                  onChange(others.length === 0 ? undefined : others);
                }}
              >
                <X size={12} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap gap-2">
        <Select
          aria-label={`Add to ${label.toLowerCase()}`}
          className="w-52"
          value=""
          none={`Add a ${kind}…`}
          onChange={(picked: string) => picked !== "" && add([picked])}
        >
          {kind === "tool" && <option value="*">Any tool</option>}
          {Object.entries(groups).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
          <optgroup label={`Of this agent`}>
            {left.map((each) => (
              <option key={each.name} value={each.name}>
                {wordsFor(each)}
              </option>
            ))}
          </optgroup>
        </Select>
        <input
          aria-label={`Pattern in ${label.toLowerCase()}`}
          placeholder="or a pattern, such as read_*"
          autoComplete="off"
          spellCheck={false}
          className="control w-56 font-mono text-xs"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={addTyped}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            addTyped();
          }}
        />
        {typed.trim() !== "" && <Button onClick={addTyped}>Add</Button>}
      </div>
      <p id={id} className={`mt-1.5 text-xs ${wrong.length > 0 ? "text-bad" : "text-ink-3"}`}>
        {wrong.length > 0 ? wrong.join(" ") : hint}
      </p>
    </fieldset>
  );
}

/** Which tools a group stands for today. */
function membersOf(group: string, there: readonly Referable[]): string {
  const members = there.filter(({ destructive }) => group === "@destructive" && destructive);
  return members.length === 0 ? "None today" : members.map(({ name }) => name).join(", ");
}

function wordsFor({ name, destructive }: Referable): string {
  return destructive ? `${name} (destructive)` : name;
}
