import { costWords, type Totals } from "./figures";

/** What usage cost, for the eye, with all digits on hover. */
export function Cost({ totals }: { totals: Totals }) {
  return (
    <span data-spent={totals.costUsd} title={costWords(totals)}>
      {costWords(totals, true)}
    </span>
  );
}
