/** Three digits each, as people of the viewer's language write them; the digits themselves are the server's. */
const GROUP = new Intl.NumberFormat().formatToParts(1_000_000).find(({ type }) => type === "group");
const POINT = new Intl.NumberFormat().formatToParts(0.5).find(({ type }) => type === "decimal");

function grouped(decimal: string, leastFraction: number): string {
  const [whole = "0", fraction = ""] = decimal.replace("-", "").split(".");
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, GROUP?.value ?? ",");
  const digits = fraction.padEnd(leastFraction, "0");
  return digits === "" ? groups : `${groups}${POINT?.value ?? "."}${digits}`;
}

const UNITS: Readonly<Record<string, [one: string, many: string]>> = {
  tokens: ["token", "tokens"],
  credits: ["credit", "credits"],
  tool_calls: ["tool call", "tool calls"],
};

/** An amount to the last digit, with its unit: `$0.000125`, `1,200 tokens`, `−3 pages`. */
export function formatAmount(decimal: string, currency: string): string {
  const sign = decimal.startsWith("-") ? "−" : "";
  if (currency === "usd") return `${sign}$${grouped(decimal, 2)}`;
  const [one, many] = UNITS[currency] ?? [currency, currency];
  return `${sign}${grouped(decimal, 0)} ${decimal.replace("-", "") === "1" ? one : many}`;
}

/** Dollars to the cent, below ten cents to two significant digits; other currencies to three decimals. Only for the eye. */
export function roundedAmount(decimal: string, currency: string): string {
  const amount = Number(decimal);
  const size = Math.abs(amount);
  if (currency !== "usd") return String(Math.round(amount * 1000) / 1000);
  if (size === 0 || size >= 0.0995) return amount.toFixed(2);
  return amount.toFixed(Math.min(20, 1 - Math.floor(Math.log10(size)))).replace(/0+$/, "");
}

/** What something cost, for the eye; null where a price isn't known. */
export function formatCost(usd: string | null): string {
  return usd === null ? "no price" : formatAmount(roundedAmount(usd, "usd"), "usd");
}

const NAMES: Readonly<Record<string, string>> = {
  usd: "US dollars",
  tokens: "Tokens",
  credits: "Credits (1,000 tokens each)",
  tool_calls: "Tool calls",
};

/** The currencies that the server itself measures; every other one is a unit of the organization's own. */
export const OWN_CURRENCIES = ["usd", "tokens", "credits", "tool_calls"] as const;

export function currencyName(currency: string): string {
  return NAMES[currency] ?? currency;
}
