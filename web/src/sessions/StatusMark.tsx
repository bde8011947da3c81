import type { SessionStatus } from "@/gql/graphql";
import { Dot } from "@/ui/Badge";
import { STATUS_LABELS, STATUS_TONES } from "./status";

export function StatusMark({ status }: { status: SessionStatus }) {
  return (
    <span className="inline-flex items-center gap-2 text-xs whitespace-nowrap text-ink-2">
      <Dot tone={STATUS_TONES[status]} pulse={status === "ACTIVE"} />
      {STATUS_LABELS[status]}
    </span>
  );
}
