import { TrendingDown } from "lucide-react";
import { formatDateTime } from "@/ui/format";
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
      return budget.status === "DISABLED" ? null : "Nothing was spent in this period yet.";
    case "used-up":
      return "Nothing is left. A top-up or a higher limit lets turns go on.";
    case "runs-out":
      return `At this pace it is used up on ${formatDateTime(told.at.toISOString())}.`;
    case "lasts":
      return budget.period?.kind === "ROLLING"
        ? "At this pace it lasts: what was spent first leaves the window in time."
        : `At this pace it lasts for the period, with about ${told.percentLeft}% left.`;
  }
}
