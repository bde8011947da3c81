import { Badge } from "@/ui/Badge";
import { type Budget, standing } from "./words";

export function StandingBadge({ budget }: { budget: Budget }) {
  const { label, tone } = standing(budget);
  return <Badge tone={tone}>{label}</Badge>;
}
