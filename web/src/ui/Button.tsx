import { RotateCw } from "lucide-react";
import type { ButtonHTMLAttributes } from "react";
import { classes } from "./classes";

type Look = "primary" | "secondary" | "ghost" | "danger";

const LOOKS: Record<Look, string> = {
  primary: "bg-primary text-on-primary hover:bg-primary-hover shadow-card",
  secondary: "border border-line-strong bg-surface text-ink hover:bg-hover shadow-card",
  ghost: "text-ink-2 hover:bg-hover hover:text-ink",
  danger: "border border-line-strong bg-surface text-bad hover:bg-bad-soft shadow-card",
};

export function buttonClasses(look: Look = "secondary", extra?: string): string {
  return classes(
    "inline-flex h-8 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-50",
    LOOKS[look],
    extra,
  );
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
}

export function Button({ look, className, type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={buttonClasses(look, className)} {...rest} />;
}

/** Reads again what a page shows. */
export function ReloadButton({ onClick }: { onClick: () => void }) {
  return (
    <Button look="ghost" onClick={onClick}>
      <RotateCw size={14} aria-hidden />
      Reload
    </Button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Names the button for those who can't see its icon. */
  label: string;
}

export function IconButton({ label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        "inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-2 transition-colors hover:bg-hover hover:text-ink disabled:opacity-50",
        className,
      )}
      {...rest}
    />
  );
}
