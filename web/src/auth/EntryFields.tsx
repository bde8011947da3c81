import { Link } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { TextField } from "@/ui/Field";

type FieldProps = Omit<ComponentProps<typeof TextField>, "label"> & { label?: string };

export function EmailField(props: FieldProps) {
  return <TextField label="Email" type="email" autoComplete="username" required {...props} />;
}

/** The password that somebody has, unless `autoComplete` says that it is a new one. */
export function PasswordField(props: FieldProps) {
  return (
    <TextField
      label="Password"
      type="password"
      autoComplete="current-password"
      required
      {...props}
    />
  );
}

/** Another way to go on, below a form. */
export function EntryLink({ to, children }: { to: "/forgot" | "/sign-in"; children: string }) {
  return (
    <p className="text-center text-sm">
      <Link to={to} className="rounded text-ink-2 underline underline-offset-2">
        {children}
      </Link>
    </p>
  );
}
