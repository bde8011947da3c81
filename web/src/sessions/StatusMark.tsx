import type { SessionStatus } from "@/gql/graphql";
import { Dot } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { STATUS_LABELS, STATUS_TONES } from "./status";

interface StatusMarkProps {
  status: SessionStatus;
  /** How the latest turn went wrong, which shows while the session is at rest. */
  failure?: { sealed: boolean; message: string } | null;
}

export function StatusMark({ status, failure }: StatusMarkProps) {
  const failed = status === "IDLE" && failure ? failure : null;
  const broke = failed?.sealed ? ("warn" as const) : ("bad" as const);
  return (
    <span
      title={failed?.message}
      className={classes(
        "inline-flex items-center gap-2 text-xs whitespace-nowrap",
        failed && !failed.sealed ? "font-medium text-bad" : "text-ink-2",
      )}
    >
      <Dot tone={failed ? broke : STATUS_TONES[status]} pulse={status === "ACTIVE"} />
      {failed ? (failed.sealed ? "Stopped" : "Failed") : STATUS_LABELS[status]}
    </span>
  );
}
