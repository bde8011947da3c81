import { type InputHTMLAttributes, useEffect, useState } from "react";
import { Echoes } from "./echoes";
import { useDebounced } from "./useDebounced";

interface LateInputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "value"> {
  value: string | undefined;
  /** Takes what was typed; undefined for what makes no sense, which is marked and doesn't count. */
  read: (typed: string) => string | undefined;
  onCommit: (value: string | undefined) => void;
}

const TYPING_MS = 250;

/** A text that counts once the reader pauses. */
export function LateInput({ value = "", read, onCommit, ...rest }: LateInputProps) {
  const [text, setText] = useState(value);
  const [echoes] = useState(() => new Echoes());
  const late = useDebounced(text, TYPING_MS);
  const next = read(late) ?? "";
  const invalid = next === "" && late.trim() !== "";
  useEffect(() => {
    if (!echoes.isEcho(value)) setText(value);
  }, [echoes, value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is about what was typed.
  useEffect(() => {
    if (late !== text || invalid || next === value) return;
    echoes.sent(next);
    onCommit(next || undefined);
  }, [late]);
  return (
    <input
      {...rest}
      aria-invalid={invalid}
      autoComplete="off"
      spellCheck={false}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
