import { useNavigate } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { useRef, useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { ForkSessionDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";

interface ForkButtonProps {
  sessionId: string;
  /** The fork ends with this turn; null for all of the session. */
  throughTurnId: string | null;
  label: string;
  className?: string;
}

/** Makes a session with the same history, and goes there. */
export function ForkButton({ sessionId, throughTurnId, label, className }: ForkButtonProps) {
  const navigate = useNavigate();
  const [{ fetching, error }, fork] = useMutation(ForkSessionDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  // A second try after a lost answer must give the same session.
  const key = useRef(newIdempotencyKey());

  const make = async () => {
    const { data } = await fork({
      input: { sessionId, throughTurnId, idempotencyKey: key.current },
    });
    const made = data?.forkSession;
    setRefusal(made?.userErrors[0]?.message ?? null);
    if (!made) return;
    key.current = newIdempotencyKey();
    if (!made.session) return;
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.session.id } });
  };

  const problem = refusal ?? (error ? describeError(error) : null);
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button
        look="ghost"
        className={className ?? ""}
        disabled={fetching}
        onClick={() => void make()}
      >
        <GitFork size={13} aria-hidden />
        {fetching ? "Forking…" : label}
      </Button>
      {problem && (
        <span role="alert" className="text-xs text-bad wrap-anywhere">
          {problem}
        </span>
      )}
    </span>
  );
}
