import { ArrowDown, ArrowUp, ChevronRight, Plus, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { useForm } from "./context";
import { errorsAt, hasErrors } from "./errors";
import { ObjectFields } from "./ObjectField";
import { type FieldProps, SchemaField, useLook } from "./SchemaField";
import { groupsOf, initialOf, isFields, resolve, type Schema, words } from "./schema";

/** A list as cards in its order, each with a line that sums it up. */
export function ListField(props: FieldProps) {
  const { schema, value, path, onChange } = props;
  const { root, errors: all } = useForm();
  const { label, hint, errors } = useLook(props);
  const [opened, setOpened] = useState<number | null>(null);
  const items = (value ?? []) as unknown[];
  const item = resolve(schema.items ?? {}, root);
  const one = (item.title ?? "item").toLowerCase();
  const change = (next: unknown[]) => onChange(next.length === 0 ? undefined : next);
  const move = (from: number, to: number) => {
    setOpened(null);
    change(items.with(from, items[to]).with(to, items[from]));
  };
  return (
    <fieldset className="min-w-0 sm:col-span-2">
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      {hint && <p className="mb-2 text-xs text-ink-3">{hint}</p>}
      {errors.length > 0 && <p className="mb-2 text-xs text-bad">{errors.join(" ")}</p>}
      {items.length > 0 && (
        <ol className="mb-2 divide-y divide-line rounded-md border border-line">
          {items.map((each, index) => {
            const at = [...path, String(index)];
            const title = `${words(one)} ${index + 1}`;
            const set = (next: unknown) => change(items.with(index, next ?? null));
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: items have no name of their own.
              <li key={index} className="flex items-start py-1 pr-1 pl-3">
                <details
                  className="group min-w-0 flex-1"
                  open={index === opened || hasErrors(all, at)}
                >
                  <summary className="flex min-h-8 items-center gap-1.5 rounded text-sm">
                    <ChevronRight
                      size={13}
                      className="shrink-0 text-ink-3 transition-transform group-open:rotate-90"
                      aria-hidden
                    />
                    <span className="shrink-0 text-xs text-ink-3">{title}</span>
                    <span className="min-w-0 truncate text-xs">
                      {errorsAt(all, at)[0] ?? summaryOf(item, each, root)}
                    </span>
                  </summary>
                  <div className="py-3">
                    {isFields(each) && item.properties ? (
                      <ObjectFields schema={item} value={each} path={at} onChange={set} />
                    ) : (
                      <SchemaField
                        schema={item}
                        label={title}
                        path={at}
                        value={each ?? undefined}
                        required
                        onChange={set}
                      />
                    )}
                  </div>
                </details>
                {index > 0 && (
                  <IconButton
                    label={`Move ${one} ${index + 1} up`}
                    onClick={() => move(index, index - 1)}
                  >
                    <ArrowUp size={14} />
                  </IconButton>
                )}
                {index < items.length - 1 && (
                  <IconButton
                    label={`Move ${one} ${index + 1} down`}
                    onClick={() => move(index, index + 1)}
                  >
                    <ArrowDown size={14} />
                  </IconButton>
                )}
                <IconButton
                  label={`Remove ${one} ${index + 1}`}
                  onClick={() => {
                    setOpened(null);
                    change(items.filter((_, other) => other !== index));
                  }}
                >
                  <X size={14} />
                </IconButton>
              </li>
            );
          })}
        </ol>
      )}
      <Button
        disabled={schema.maxItems !== undefined && items.length >= schema.maxItems}
        onClick={() => {
          setOpened(items.length);
          onChange([...items, initialOf(item, root)]);
        }}
      >
        <Plus size={14} aria-hidden />
        Add {/^[aeiou]/.test(one) ? "an" : "a"} {one}
      </Button>
    </fieldset>
  );
}

/** An item in a line: its plain values, in the order of its fields. */
export function summaryOf(schema: Schema, value: unknown, root: Schema): string {
  if (!isFields(value)) return typeof value === "object" ? "" : String(value ?? "");
  return groupsOf(schema, root)
    .flatMap(({ properties }) => properties)
    .flatMap(({ key, schema: { items, "x-labels": labels } }) => {
      const each = value[key];
      if (Array.isArray(each)) {
        const named = items && resolve(items, root)["x-labels"];
        const texts = each.filter((one): one is string => typeof one === "string");
        return [texts.map((one) => named?.[one] ?? one).join(", ")];
      }
      return typeof each === "string" ? [labels?.[each] ?? each] : [];
    })
    .filter((text) => text !== "")
    .join(" · ");
}
