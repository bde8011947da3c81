import { Boxes } from "lucide-react";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { usePages } from "@/api/usePages";
import { nameBeside } from "@/catalog/names";
import {
  type ModelRowFragment,
  ProviderModelsDocument,
  type ProviderRowFragment,
  UpdateModelDocument,
} from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatCount } from "@/ui/format";
import { ListBody } from "@/ui/ListBody";
import { AddModels } from "./AddModels";
import { ModelDialog } from "./ModelDialog";
import { priceLine } from "./modelDraft";
import { PriceHistory } from "./PriceHistory";

interface ProviderModelsProps {
  provider: ProviderRowFragment;
  editable: boolean;
}

export function ProviderModels({ provider, editable }: ProviderModelsProps) {
  const [edited, setEdited] = useState<ModelRowFragment | null>(null);
  const [priced, setPriced] = useState<ModelRowFragment | null>(null);
  const [{ error: toggleError, data: toggled }, update] = useMutation(UpdateModelDocument);
  const models = usePages(
    ProviderModelsDocument,
    { providerId: provider.id, first: 100 },
    (data) => data.models,
  );
  const refused = toggled?.updateModel.userErrors[0]?.message;

  return (
    <section aria-labelledby="provider-models" className="min-w-0 space-y-3">
      <div className="flex items-baseline justify-between gap-2">
        <h2 id="provider-models" className="text-sm font-medium">
          Models
        </h2>
        <span className="text-xs text-ink-3 tabular-nums">
          {models.nodes.length}
          {models.hasMore && "+"} added
        </span>
      </div>
      {(toggleError || refused) && (
        <ErrorNote>{toggleError ? describeError(toggleError) : refused}</ErrorNote>
      )}
      <div className="card overflow-hidden">
        <ListBody
          list={models}
          skeletons={3}
          empty={
            <p className="flex items-center gap-2 px-3 py-6 text-sm text-ink-3">
              <Boxes size={16} aria-hidden />
              No models yet. Agents can use the models you add here.
            </p>
          }
        >
          <ul className="divide-y divide-line">
            {models.nodes.map((model) => (
              <ModelListRow
                key={model.id}
                model={model}
                editable={editable}
                onPrices={() => setPriced(model)}
                onEdit={() => setEdited(model)}
                onToggle={(enabled) => void update({ id: model.id, input: { enabled } })}
              />
            ))}
          </ul>
        </ListBody>
      </div>
      {editable && <AddModels provider={provider} added={models.nodes} />}
      {edited && <ModelDialog model={edited} onClose={() => setEdited(null)} />}
      {priced && <PriceHistory model={priced} onClose={() => setPriced(null)} />}
    </section>
  );
}

interface ModelListRowProps {
  model: ModelRowFragment;
  editable: boolean;
  onPrices: () => void;
  onEdit: () => void;
  onToggle: (enabled: boolean) => void;
}

function ModelListRow({ model, editable, onPrices, onEdit, onToggle }: ModelListRowProps) {
  const { contextWindowTokens, maxOutputTokens, enabled } = model;
  const limits = [
    contextWindowTokens !== null && `${formatCount(contextWindowTokens)} context`,
    maxOutputTokens !== null && `${formatCount(maxOutputTokens)} output`,
  ].filter((each) => each !== false);
  return (
    <li
      data-model={model.name}
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-2 text-sm"
    >
      <div className={classes("min-w-48 flex-1 max-sm:basis-full", !enabled && "opacity-70")}>
        <div className="flex min-w-0 items-baseline gap-2">
          <span className="truncate font-medium">{model.displayName}</span>
          <span className="truncate font-mono text-2xs text-ink-3">{nameBeside(model)}</span>
        </div>
        <p className="text-xs text-ink-3 tabular-nums">
          {[...limits, priceLine(model.price) ?? "no price known"].join(" · ")}
        </p>
      </div>
      <label className="flex items-center gap-1.5 text-xs text-ink-2">
        <input
          type="checkbox"
          className="size-3.5 accent-accent"
          checked={enabled}
          disabled={!editable}
          aria-label={`${model.displayName} is enabled`}
          onChange={(event) => onToggle(event.target.checked)}
        />
        Enabled
      </label>
      <Button look="ghost" onClick={onPrices} aria-label={`Prices of ${model.displayName}`}>
        Prices
      </Button>
      {editable && (
        <Button look="ghost" onClick={onEdit} aria-label={`Edit ${model.displayName}`}>
          Edit
        </Button>
      )}
    </li>
  );
}
