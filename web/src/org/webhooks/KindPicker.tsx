import type { EventKind } from "@/gql/graphql";
import { toggled } from "./draft";
import { kindGroups, kindWords } from "./kinds";

interface KindPickerProps {
  /** What was chosen before; it stays on offer. */
  known: readonly EventKind[];
  picked: readonly EventKind[];
  onChange: (picked: readonly EventKind[]) => void;
  errors: readonly string[];
}

/** Checkboxes for what a webhook is told of. */
export function KindPicker({ known, picked, onChange, errors }: KindPickerProps) {
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">Events</legend>
      <div className="divide-y divide-line rounded-md border border-line">
        {kindGroups(known).map(({ label, kinds }) => (
          <fieldset key={label} className="px-3 py-2">
            <legend className="float-left mb-1 w-full text-xs text-ink-3">{label}</legend>
            <div className="clear-both grid gap-x-4 gap-y-1">
              {kinds.map((each) => (
                <label key={each} className="flex items-start gap-2 text-sm">
                  <input
                    type="checkbox"
                    className="mt-0.75 size-3.5 shrink-0 accent-(--accent)"
                    checked={picked.includes(each)}
                    onChange={() => onChange(toggled(picked, each))}
                  />
                  <span className="min-w-0">
                    {kindWords(each)}{" "}
                    <span className="font-mono text-2xs wrap-anywhere text-ink-3">{each}</span>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
        ))}
      </div>
      {errors.length > 0 && (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {errors.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
