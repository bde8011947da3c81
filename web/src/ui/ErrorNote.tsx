import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { describeError } from "@/api/errors";
import { useHealing } from "@/api/reachable";
import { Button } from "./Button";

interface ErrorNoteProps {
  children: ReactNode;
  onRetry?: () => void;
}

/** An error where it happened. */
export function ErrorNote({ children, onRetry }: ErrorNoteProps) {
  return (
    <div
      role="alert"
      className="flex items-start gap-2 rounded-md border border-bad/25 bg-bad-soft px-3 py-2 text-sm text-bad"
    >
      <CircleAlert size={16} className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 wrap-anywhere">{children}</div>
      {onRetry && (
        <Button look="ghost" className="-my-1 text-bad" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface RequestErrorProps {
  error: CombinedError | null | undefined;
  onRetry?: () => void;
}

/** Why a request failed; nothing when it did not. It is tried again by itself when the server was away. */
export function RequestError({ error, onRetry }: RequestErrorProps) {
  useHealing(error, onRetry);
  return error && <ErrorNote {...(onRetry && { onRetry })}>{describeError(error)}</ErrorNote>;
}
