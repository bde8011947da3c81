import { Badge } from "@/ui/Badge";
import { type Budget, type Check, checkStanding, standing } from "./words";

export function StandingBadge({ budget }: { budget: Budget }) {
  const { label, tone } = standing(budget);
  return <Badge tone={tone}>{label}</Badge>;
}

/** How a session stands with all of its budgets. */
export function CheckBadge({ check }: { check: Check }) {
  const { label, tone } = checkStanding(check);
  return <Badge tone={tone}>{label}</Badge>;
}
