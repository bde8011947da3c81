import { formatAmount, formatCost, roundedAmount } from "./amounts";

interface AmountProps {
  /** A decimal of the API. */
  of: string;
  currency: string;
}

/** What something cost; null where a price isn't known. */
export function Cost({ usd }: { usd: string | null }) {
  return usd === null ? formatCost(usd) : <Amount of={usd} currency="usd" />;
}

/** An amount for the eye, with all of its digits on hover. */
export function Amount({ of, currency }: AmountProps) {
  const shown = roundedAmount(of, currency);
  return (
    <span title={formatAmount(of, currency)} data-exact={of}>
      {formatAmount(shown, currency)}
    </span>
  );
}
