interface TogglesProps<Option> {
  label: string;
  options: readonly Option[];
  words: (option: Option) => string;
  pressed: (option: Option) => boolean;
  onPress: (option: Option) => void;
}

/** Buttons in a row, of which one is pressed: what of a list is shown. */
export function Toggles<Option>(props: TogglesProps<Option>) {
  const { label, options, words, pressed, onPress } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be wrong here, nothing is submitted.
    <div role="group" aria-label={label} className="flex flex-wrap gap-0.5">
      {options.map((each) => (
        <button
          key={words(each)}
          type="button"
          aria-pressed={pressed(each)}
          onClick={() => onPress(each)}
          className="rounded-md px-2.5 py-1 text-sm text-ink-2 transition-colors hover:text-ink aria-pressed:bg-hover aria-pressed:font-medium aria-pressed:text-ink"
        >
          {words(each)}
        </button>
      ))}
    </div>
  );
}
