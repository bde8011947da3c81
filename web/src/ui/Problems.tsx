import { otherErrors } from "@/api/errors";
import type { Attempt } from "@/api/useAction";
import { ErrorNote } from "./ErrorNote";

interface ProblemsProps {
  of: Pick<Attempt, "failure" | "refusals">;
  /** The inputs that show their own refusals. */
  fields?: readonly string[] | undefined;
}

/** What went wrong with an action, at the place of its buttons. */
export function Problems({ of: { failure, refusals }, fields = [] }: ProblemsProps) {
  return (
    <>
      {failure && <ErrorNote>{failure}</ErrorNote>}
      {otherErrors(refusals, fields).map(({ code, message }) => (
        <ErrorNote key={code + message}>{message}</ErrorNote>
      ))}
    </>
  );
}
