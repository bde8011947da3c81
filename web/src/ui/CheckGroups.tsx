interface CheckGroupsProps<Value extends string> {
  legend: string;
  groups: readonly { label: string; values: readonly Value[] }[];
  words: (value: Value) => string;
  checked: (value: Value) => boolean;
  disabled?: (value: Value) => boolean;
  onToggle: (value: Value) => void;
  errors: readonly string[];
}

/** Checkboxes by subject, each with its words and its name in the API. */
export function CheckGroups<Value extends string>(props: CheckGroupsProps<Value>) {
  const { legend, groups, words, checked, disabled, onToggle, errors } = props;
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{legend}</legend>
      <div className="divide-y divide-line rounded-md border border-line">
        {groups.map(({ label, values }) => (
          <fieldset key={label} className="px-3 py-2">
            <legend className="float-left mb-1 w-full text-xs text-ink-3">{label}</legend>
            <div className="clear-both grid gap-x-4 gap-y-1">
              {values.map((each) => (
                <label key={each} className="flex items-start gap-2 text-sm">
                  <input
                    type="checkbox"
                    className="mt-0.75 size-3.5 shrink-0 accent-accent"
                    checked={checked(each)}
                    disabled={disabled?.(each)}
                    onChange={() => onToggle(each)}
                  />
                  <span className="min-w-0">
                    {words(each)}{" "}
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
