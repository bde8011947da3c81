import { type RefObject, useEffect, useRef } from "react";
import type { UserError } from "@/api/errors";

interface Problem {
  refusals: readonly UserError[];
  failure: string | null;
}

/** For a form: when what it sent was refused, the first refused field is scrolled into view and focused. */
export function useFocusProblem({ refusals, failure }: Problem): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  const problem = refusals.length > 0 ? refusals : failure;
  useEffect(() => {
    if (problem !== null) focusProblem(form.current);
  }, [problem]);
  return form;
}

/** The first refused field; where none is, the button, which lost the focus while it was disabled. */
function focusProblem(form: HTMLFormElement | null): void {
  const target =
    form?.querySelector<HTMLElement>("[aria-invalid=true]") ??
    form?.querySelector<HTMLElement>("button[type=submit]");
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "center" });
}
