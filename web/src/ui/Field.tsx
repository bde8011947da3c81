import { type ComponentPropsWithoutRef, type ReactNode, useId } from "react";
import { classes } from "./classes";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  errors?: readonly string[] | undefined;
  optional?: boolean | undefined;
  className?: string | undefined;
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

type FieldLook = Omit<FieldProps, "children">;

interface TextFieldProps
  extends FieldLook,
    Omit<ComponentPropsWithoutRef<"input">, "className" | "value" | "onChange"> {
  value: string;
  onChange?: (value: string) => void;
  /** For names and secrets, of which every character counts. */
  mono?: boolean;
}

/** A field with one line of text. Browsers fill in nothing unless `autoComplete` says so. */
export function TextField(props: TextFieldProps) {
  const { label, hint, errors, optional, className, onChange, mono, ...input } = props;
  return (
    <Field label={label} hint={hint} errors={errors} optional={optional} className={className}>
      {(control) => (
        <input
          autoComplete="off"
          {...input}
          {...control}
          className={classes(
            "control read-only:bg-sunken read-only:text-ink-2",
            mono && "font-mono",
            input.inputMode && "tabular-nums",
          )}
          onChange={(event) => onChange?.(event.target.value)}
        />
      )}
    </Field>
  );
}

interface SelectProps<Value extends string>
  extends Omit<ComponentPropsWithoutRef<"select">, "value" | "onChange"> {
  value: Value | "";
  /** The words for choosing none, which is the empty value. */
  none?: string;
  /** Each with its words. Groups of options may come as children. */
  options?: readonly (readonly [Value, string])[] | undefined;
  onChange: (value: Value) => void;
}

/** A choice of one. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { none, options = [], onChange, className, children, ...select } = props;
  return (
    <select
      {...select}
      className={classes("control", className)}
      onChange={(event) => onChange(event.target.value as Value)}
    >
      {none !== undefined && <option value="">{none}</option>}
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
      {children}
    </select>
  );
}

/** Narrows a list by one of its values, or by none. A value that isn't offered, such as one that is gone, stays chosen. */
export function Filter<Value extends string>(
  props: Omit<SelectProps<Value>, "value" | "onChange" | "options"> & {
    label: string;
    value: Value | undefined;
    options: readonly (readonly [Value, string])[];
    /** The words for a value that isn't offered; else it stands for itself. */
    unknown?: string;
    onChange: (value: Value | undefined) => void;
  },
) {
  const { label, value, options, unknown, onChange, ...select } = props;
  const missing = value !== undefined && !options.some(([each]) => each === value);
  return (
    <Select
      aria-label={label}
      className="w-44"
      {...select}
      value={value ?? ""}
      options={missing ? [[value, unknown ?? value], ...options] : options}
      onChange={(next) => onChange(next || undefined)}
    />
  );
}

type SelectFieldProps<Value extends string> = FieldLook & SelectProps<Value>;

export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, hint, errors, optional, className, ...select } = props;
  return (
    <Field label={label} hint={hint} errors={errors} optional={optional} className={className}>
      {(control) => <Select<Value> {...select} {...control} />}
    </Field>
  );
}
