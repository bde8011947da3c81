import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useId } from "react";
import { IconButton } from "@/ui/Button";
import { Select } from "@/ui/Field";
import { moved } from "./fallbacks";
import { type ModelOption, ModelOptions } from "./ModelOptions";
import { fullName } from "./names";

interface FallbackModelsProps {
  models: readonly ModelOption[];
  /** Ids, in the order in which they are asked. */
  picked: readonly string[];
  onChange: (picked: string[]) => void;
  errors: readonly string[];
}

/** An ordered list of models to ask when the chosen one can't be reached. */
export function FallbackModels({ models, picked, onChange, errors }: FallbackModelsProps) {
  const noteId = useId();
  const byId = new Map(models.map((model) => [model.id, model]));
  const left = models.filter(({ id }) => !picked.includes(id));
  const labelOf = (id: string) => {
    const model = byId.get(id);
    return model ? fullName(model) : "A model that is gone";
  };
  return (
    <fieldset aria-describedby={noteId} className="min-w-0">
      <legend className="mb-1.5 flex items-baseline gap-1.5 text-sm font-medium">
        Fallback models <span className="text-xs font-normal text-ink-3">optional</span>
      </legend>
      {picked.length > 0 && (
        <ol className="card mb-2 divide-y divide-line">
          {picked.map((id, index) => (
            <li key={id} className="flex items-center gap-2 py-0.5 pr-1 pl-3 text-sm">
              <span className="text-xs text-ink-3 tabular-nums">{index + 1}</span>
              <span className="min-w-0 flex-1 truncate">{labelOf(id)}</span>
              <IconButton
                label={`Ask ${labelOf(id)} earlier`}
                disabled={index === 0}
                onClick={() => onChange(moved(picked, index, -1))}
              >
                <ArrowUp size={14} />
              </IconButton>
              <IconButton
                label={`Ask ${labelOf(id)} later`}
                disabled={index === picked.length - 1}
                onClick={() => onChange(moved(picked, index, 1))}
              >
                <ArrowDown size={14} />
              </IconButton>
              <IconButton
                label={`Remove ${labelOf(id)}`}
                onClick={() => onChange(picked.filter((each) => each !== id))}
              >
                <X size={14} />
              </IconButton>
            </li>
          ))}
        </ol>
      )}
      <Select
        aria-label="Add a fallback"
        value=""
        none={picked.length === 0 ? "Inherited" : "Add another…"}
        onChange={(id) => onChange([...picked, id])}
      >
        <ModelOptions models={left} chosen="" />
      </Select>
      <p id={noteId} className={`mt-1.5 text-xs ${errors.length > 0 ? "text-bad" : "text-ink-3"}`}>
        {errors.length > 0
          ? errors.join(" ")
          : "Tried in this order when the model can't be reached."}
      </p>
    </fieldset>
  );
}
