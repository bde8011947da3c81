import { JsonBlock } from "@/ui/JsonBlock";
import { CallText } from "./CallText";
import type { Fields } from "./readCall";

/** Arguments by their names: texts as texts, and only what is nested as JSON. */
export function FieldTable({ fields }: { fields: Fields }) {
  return (
    <dl className="divide-y divide-line rounded border border-line">
      {fields.map(([name, value]) => (
        <div key={name} className="grid gap-x-4 px-2.5 py-1.5 sm:grid-cols-[9rem_1fr]">
          <dt className="text-xs leading-5 font-medium text-ink-3 wrap-anywhere">{name}</dt>
          <dd className="min-w-0 text-xs leading-5">
            <FieldValue value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FieldValue({ value }: { value: unknown }) {
  if (value === "") return <span className="text-ink-3">empty</span>;
  if (typeof value === "string") return <CallText text={value} />;
  if (typeof value === "object" && value !== null) return <JsonBlock value={value} />;
  return <span className="font-mono text-ink-2">{String(value)}</span>;
}
