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
  // A second try after a lost answer must give the same fork.
  const key = useRef(newIdempotencyKey());

  const run = async () => {
    const { data } = await fork({
      input: { sessionId, throughTurnId, idempotencyKey: key.current },
    });
    const refused = data?.forkSession.userErrors[0];
    const made = data?.forkSession.session;
    setRefusal(refused?.message ?? null);
    if (data) key.current = newIdempotencyKey();
    if (made) void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.id } });
  };

  const problem = refusal ?? (error ? describeError(error) : null);
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button
        look="ghost"
        className={className ?? ""}
        disabled={fetching}
        onClick={() => void run()}
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
