import { formatAmount, formatNumber, roundedAmount } from "./amounts";

interface AmountProps {
  /** A decimal of the API. */
  of: string;
  currency: string;
  /** Without the unit, where a label names it. */
  bare?: boolean;
}

/** An amount for the eye, with all of its digits on hover. */
export function Amount({ of, currency, bare = false }: AmountProps) {
  const shown = roundedAmount(of, currency);
  return (
    <span title={formatAmount(of, currency)} data-exact={of}>
      {bare ? formatNumber(shown, currency) : formatAmount(shown, currency)}
    </span>
  );
}
