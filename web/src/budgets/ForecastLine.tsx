import { TrendingDown } from "lucide-react";
import { formatToMinute } from "@/ui/format";
import { forecast } from "./forecast";
import type { Budget } from "./words";

/** What comes of the budget if it is spent as fast as in its period so far. */
export function ForecastLine({ budget }: { budget: Budget }) {
  const words = forecastWords(budget, new Date());
  if (words === null) return null;
  return (
    <p data-forecast className="flex items-center gap-2 border-t border-line pt-3 text-sm">
      <TrendingDown size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span>{words}</span>
    </p>
  );
}

function forecastWords(budget: Budget, now: Date): string | null {
  const told = forecast(budget, now);
  switch (told.kind) {
    case "none":
      return budget.status === "DISABLED" ? null : "Nothing spent in this period yet.";
    case "too-early":
      return "Too early for a forecast.";
    case "used-up":
      return "Nothing is left. Top up the budget or raise its limit so that turns can continue.";
    case "too-little":
      return "The next call may need more than is left. Top up the budget or raise its limit.";
    case "runs-out":
      return `At this rate it runs out on ${formatToMinute(told.at)}.`;
    case "lasts":
      return budget.period?.kind === "ROLLING"
        ? "At this rate it lasts: earlier spending leaves the window in time."
        : `At this rate about ${told.percentLeft}% is left when it resets.`;
  }
}
