import { ChevronRight, Plus, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field, TextField } from "@/ui/Field";
import {
  clientToolProblems,
  type DraftClientTool,
  nameGivenTwice,
  newClientTool,
} from "./clientTools";

interface ClientToolsProps {
  tools: readonly DraftClientTool[];
  onChange: (tools: DraftClientTool[]) => void;
  errors: readonly string[];
}

/** Tools that the caller's own program runs. */
export function ClientTools({ tools, onChange, errors }: ClientToolsProps) {
  const [opened, setOpened] = useState<number | null>(null);
  const twice = nameGivenTwice(tools);
  const shown = twice === null ? errors : [`Two client tools have the name ${twice}.`, ...errors];
  const add = () => {
    setOpened(tools.length);
    onChange([...tools, newClientTool]);
  };
  return (
    <section aria-labelledby="client-tools-title">
      <div className="mb-1.5 flex items-baseline justify-between">
        <h2 id="client-tools-title" className="text-sm font-medium">
          Client tools <span className="text-xs font-normal text-ink-3">optional</span>
        </h2>
        <span className="text-xs text-ink-3 tabular-nums">{tools.length}</span>
      </div>
      <p className="mb-2 text-xs text-ink-3">
        Run by your own program. The turn waits until it sends the result with submitToolResults.
      </p>
      {shown.length > 0 && (
        <div className="mb-2">
          <ErrorNote>{shown.join(" ")}</ErrorNote>
        </div>
      )}
      {tools.length > 0 && (
        <ul className="card mb-2 divide-y divide-line">
          {tools.map((tool, index) => (
            <ClientToolRow
              // biome-ignore lint/suspicious/noArrayIndexKey: a tool's name is being typed.
              key={index}
              tool={tool}
              openAtFirst={index === opened}
              onChange={(changed) => onChange(tools.with(index, changed))}
              onRemove={() => {
                setOpened(null);
                onChange(tools.filter((_, each) => each !== index));
              }}
            />
          ))}
        </ul>
      )}
      <Button onClick={add}>
        <Plus size={14} aria-hidden />
        Add a client tool
      </Button>
    </section>
  );
}

interface ClientToolRowProps {
  tool: DraftClientTool;
  openAtFirst: boolean;
  onChange: (tool: DraftClientTool) => void;
  onRemove: () => void;
}

function ClientToolRow({ tool, openAtFirst, onChange, onRemove }: ClientToolRowProps) {
  // A tool that was just added has nothing wrong with it until a field was left.
  const [left, setLeft] = useState<readonly (keyof DraftClientTool)[]>([]);
  const problems = clientToolProblems(tool);
  const shown = openAtFirst ? left : (Object.keys(problems) as (keyof DraftClientTool)[]);
  const title = tool.name || "A new tool";
  const field = (key: keyof DraftClientTool) => ({
    errors: problems[key] === undefined || !shown.includes(key) ? [] : [problems[key]],
    value: tool[key],
    onBlur: () => setLeft((fields) => (fields.includes(key) ? fields : [...fields, key])),
    onChange: (value: string) => onChange({ ...tool, [key]: value }),
  });
  const { errors, onChange: setSchema, ...schema } = field("inputSchema");
  return (
    <li className="flex items-start gap-1 py-1 pr-1 pl-3">
      <details className="group min-w-0 flex-1" open={openAtFirst}>
        <summary className="flex h-8 items-center gap-1.5 rounded text-sm">
          <ChevronRight
            size={13}
            className="shrink-0 text-ink-3 transition-transform group-open:rotate-90"
            aria-hidden
          />
          <span className="truncate font-mono text-xs">{title}</span>
          <span className="min-w-0 flex-1 truncate text-xs text-ink-3">
            {shown.map((key) => problems[key]).find((each) => each) ?? tool.description}
          </span>
        </summary>
        <div className="grid gap-x-4 gap-y-4 py-3 sm:grid-cols-2">
          <TextField
            label="Tool name"
            {...field("name")}
            hint="As the model calls it."
            spellCheck={false}
            mono
          />
          <TextField label="Tool display name" optional {...field("displayName")} />
          <TextField
            label="Tool description"
            className="sm:col-span-2"
            {...field("description")}
            hint="The model decides by this when to call it."
          />
          <Field
            label="Schema of its arguments"
            className="sm:col-span-2"
            errors={errors}
            hint="A JSON Schema. Its root is an object."
          >
            {(control) => (
              <textarea
                {...control}
                {...schema}
                rows={7}
                spellCheck={false}
                className="control field-sizing-content max-h-96 min-h-32 font-mono text-xs leading-5"
                onChange={(event) => setSchema(event.target.value)}
              />
            )}
          </Field>
          <TextField
            label="Timeout in seconds"
            optional
            {...field("timeoutSeconds")}
            hint="Then the model is told that there is no result."
            inputMode="numeric"
            placeholder="No limit"
          />
        </div>
      </details>
      <IconButton label={`Remove ${title}`} onClick={onRemove}>
        <X size={14} />
      </IconButton>
    </li>
  );
}
