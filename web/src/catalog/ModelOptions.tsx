import { fullName, type Named } from "./names";

/** A model as the forms of agents and harnesses offer it. */
export interface ModelOption extends Named {
  enabled: boolean;
  provider: { name: string };
}

/** The options of a choice of models, by provider. Disabled ones are left out, unless one is chosen already. */
export function ModelOptions({
  models,
  chosen,
}: {
  models: readonly ModelOption[];
  chosen: string;
}) {
  const usable = models.filter(({ enabled, id }) => enabled || id === chosen);
  const byProvider = Map.groupBy(usable, ({ provider }) => provider.name);
  return [...byProvider].map(([provider, each]) => (
    <optgroup key={provider} label={provider}>
      {each.map((model) => (
        <option key={model.id} value={model.id}>
          {fullName(model)}
        </option>
      ))}
    </optgroup>
  ));
}
