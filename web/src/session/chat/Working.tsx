import { Hourglass } from "lucide-react";
import type { SessionStatus } from "@/gql/graphql";

interface WorkingProps {
  /** Null while it is not known. */
  status: SessionStatus | null;
  stopping?: boolean;
}

const HELD: Partial<Record<SessionStatus, string>> = { PAUSED: "Paused", WAITING: "Waiting" };

/** Says below the messages that a turn is under way, or what holds it. */
export function Working({ status, stopping = false }: WorkingProps) {
  const words = stopping ? "Stopping…" : status && HELD[status];
  if (words) {
    return (
      <p role="status" className="mt-4 flex items-center gap-1.5 text-xs text-ink-3">
        <Hourglass size={12} aria-hidden />
        {words}
      </p>
    );
  }
  return (
    <div role="status" className="mt-4 flex items-center gap-1 text-ink-3" aria-label="Working">
      {[0, 1, 2].map((dot) => (
        <span
          key={dot}
          className="size-1.5 animate-pulse-soft rounded-full bg-current"
          style={{ animationDelay: `${dot * 200}ms` }}
        />
      ))}
    </div>
  );
}
