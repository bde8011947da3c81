import { X } from "lucide-react";
import { useState } from "react";
import { useClient } from "urql";
import { describeError } from "@/api/errors";
import { CreateModelDocument, type OfferedModelFragment } from "@/gql/graphql";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { formatCount } from "@/ui/format";
import { ModelFields } from "./ModelFields";
import {
  createModelInput,
  draftOfModel,
  type ModelDraft,
  modelProblems,
  priceLine,
  splitOffered,
} from "./modelDraft";

interface OfferedModelsProps {
  providerId: string;
  title: string;
  offered: readonly OfferedModelFragment[];
  added: readonly { name: string }[];
  onClose: () => void;
}

/** Models to choose from, with what is known of each filled in. */
export function OfferedModels({ providerId, title, offered, added, onClose }: OfferedModelsProps) {
  const client = useClient();
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<Readonly<Record<string, ModelDraft>>>({});
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [adding, setAdding] = useState(false);
  const { fresh, present } = splitOffered(offered, added);
  const wanted = search.trim().toLowerCase();
  const shown = fresh.filter(
    ({ name, displayName }) =>
      name.toLowerCase().includes(wanted) || displayName.toLowerCase().includes(wanted),
  );
  const drafts = fresh.flatMap(({ name }) => chosen[name] ?? []);
  const valid = drafts.every((draft) => Object.keys(modelProblems(draft)).length === 0);

  const add = async () => {
    setAdding(true);
    const refused: Record<string, string> = {};
    for (const draft of drafts) {
      const { data, error } = await client
        .mutation(CreateModelDocument, { input: createModelInput(draft, providerId) })
        .toPromise();
      const problem = error ? describeError(error) : data?.createModel.userErrors[0]?.message;
      if (problem) refused[draft.name] = problem;
    }
    setAdding(false);
    setProblems(refused);
    // What was refused stays chosen, with the reason beside it.
    setChosen(
      Object.fromEntries(Object.entries(chosen).filter(([name]) => Object.hasOwn(refused, name))),
    );
  };

  return (
    <section aria-label={title} className="card overflow-hidden">
      <div className="flex items-start gap-2 border-b border-line py-2 pr-2 pl-3">
        <div className="min-w-0 flex-1">
          <h3 className="text-sm font-medium">{title}</h3>
          <p className="text-xs text-ink-3">
            {fresh.length} to choose from
            {present > 0 && `, ${present} added already`}
          </p>
        </div>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </div>
      {fresh.length > 8 && (
        <div className="border-b border-line p-2">
          <input
            type="search"
            aria-label="Search models"
            placeholder="Search by name"
            className="control"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
      )}
      <ul className="max-h-96 divide-y divide-line overflow-y-auto">
        {shown.map((model) => (
          <OfferedRow
            key={model.name}
            model={model}
            draft={chosen[model.name]}
            problem={problems[model.name]}
            onChange={(draft) => {
              const { [model.name]: _, ...others } = chosen;
              setChosen(draft ? { ...others, [model.name]: draft } : others);
            }}
          />
        ))}
      </ul>
      {shown.length === 0 && (
        <p className="px-3 py-4 text-sm text-ink-3">
          {fresh.length === 0 ? "All models are added." : "No models match."}
        </p>
      )}
      {fresh.length > 0 && (
        <div className="flex justify-end border-t border-line p-2">
          <Button
            look="primary"
            disabled={adding || drafts.length === 0 || !valid}
            onClick={() => void add()}
          >
            {adding
              ? "Adding…"
              : `Add ${drafts.length === 1 ? "1 model" : `${drafts.length} models`}`}
          </Button>
        </div>
      )}
    </section>
  );
}

interface OfferedRowProps {
  model: OfferedModelFragment;
  draft: ModelDraft | undefined;
  problem: string | undefined;
  onChange: (draft: ModelDraft | null) => void;
}

function OfferedRow({ model, draft, problem, onChange }: OfferedRowProps) {
  const { contextWindowTokens } = model;
  const facts = [
    contextWindowTokens !== null && `${formatCount(contextWindowTokens)} context`,
    priceLine(model.price) ?? "no price known",
  ].filter((each) => each !== false);
  return (
    <li className={classes("px-3 py-2 text-sm", draft && "bg-accent-soft/40")}>
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-accent"
          checked={draft !== undefined}
          onChange={(event) => onChange(event.target.checked ? draftOfModel(model) : null)}
        />
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{model.displayName}</span>
          <span className="block truncate font-mono text-2xs text-ink-3">{model.name}</span>
        </span>
        <span className="text-right text-xs text-ink-3 tabular-nums">{facts.join(" · ")}</span>
      </label>
      {problem && (
        <p role="alert" className="mt-1 ml-6.5 text-xs text-bad">
          {problem}
        </p>
      )}
      {draft && (
        <details className="mt-1 ml-6.5">
          <summary className="inline text-xs text-ink-2 hover:text-ink">
            Edit limits and price
          </summary>
          <div className="max-w-md space-y-4 py-3">
            <ModelFields draft={draft} onChange={onChange} refusals={[]} />
          </div>
        </details>
      )}
    </li>
  );
}
