import { type ReactNode, useId } from "react";
import { classes } from "./classes";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  errors?: readonly string[];
  optional?: boolean;
  className?: string;
  /** Gets what ties the control to its label, hint and errors. */
  children: (control: ControlProps) => ReactNode;
}

interface ControlProps {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean;
}

export function Field({ label, hint, errors = [], optional, className, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const invalid = errors.length > 0;
  const described = invalid || hint !== undefined;
  return (
    <div className={classes("min-w-0", className)}>
      <label htmlFor={id} className="mb-1.5 flex items-baseline gap-1.5 text-sm font-medium">
        {label}
        {optional && <span className="text-xs font-normal text-ink-3">optional</span>}
      </label>
      {children({
        id,
        "aria-describedby": described ? noteId : undefined,
        "aria-invalid": invalid,
      })}
      {described && (
        <div id={noteId} className={classes("mt-1.5 text-xs", invalid ? "text-bad" : "text-ink-3")}>
          {invalid ? errors.join(" ") : hint}
        </div>
      )}
    </div>
  );
}
