import type { UserError } from "@/api/errors";
import { ErrorNote } from "@/ui/ErrorNote";

interface ProblemsProps {
  failure: string | null;
  refusals: readonly UserError[];
}

/** What went wrong with an action, at the place of its buttons. */
export function Problems({ failure, refusals }: ProblemsProps) {
  return (
    <>
      {failure && <ErrorNote>{failure}</ErrorNote>}
      {refusals.map(({ code, message }) => (
        <ErrorNote key={code + message}>{message}</ErrorNote>
      ))}
    </>
  );
}
