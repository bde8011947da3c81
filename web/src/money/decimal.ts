// Money travels as exact decimals in strings and is never a float, so it is reckoned with as whole numbers of the
// smallest unit in sight.

interface Scaled {
  units: bigint;
  scale: number;
}

function parse(decimal: string): Scaled {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal.trim());
  if (!match) throw new Error(`not a decimal: ${JSON.stringify(decimal)}`);
  const fraction = match[3] ?? "";
  const units = BigInt(match[2] + fraction);
  return { units: match[1] === "-" ? -units : units, scale: fraction.length };
}

/** Both in the smallest unit of either. */
function aligned(left: string, right: string): [left: bigint, right: bigint, scale: number] {
  const a = parse(left);
  const b = parse(right);
  const scale = Math.max(a.scale, b.scale);
  const rescale = ({ units, scale: own }: Scaled) => units * 10n ** BigInt(scale - own);
  return [rescale(a), rescale(b), scale];
}

function text(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Whether the API would take the text as a decimal at all; what it may amount to, the server says. */
export function isDecimal(typed: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(typed.trim());
}

/** A decimal without needless zeros: `25.00` is 25. */
export function plainDecimal(decimal: string): string {
  return addDecimals(decimal, "0");
}

export function addDecimals(left: string, right: string): string {
  const [a, b, scale] = aligned(left, right);
  return text(a + b, scale);
}

export function subtractDecimals(left: string, right: string): string {
  const [a, b, scale] = aligned(left, right);
  return text(a - b, scale);
}

/** Below 0 when the left one is less, above when it is more. */
export function compareDecimals(left: string, right: string): number {
  const [a, b] = aligned(left, right);
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function isNegative(decimal: string): boolean {
  return compareDecimals(decimal, "0") < 0;
}

export function isZero(decimal: string): boolean {
  return compareDecimals(decimal, "0") === 0;
}

export function sumDecimals(decimals: Iterable<string>): string {
  let sum = "0";
  for (const each of decimals) sum = addDecimals(sum, each);
  return sum;
}

/** How much a part is of the whole, from 0 to 100, for bars: rounded down to a hundredth. All of nothing is 100. */
export function percentOf(part: string, whole: string): number {
  const [some, all] = aligned(part, whole);
  if (all <= 0n) return 100;
  if (some <= 0n) return 0;
  return some >= all ? 100 : Number((some * 10_000n) / all) / 100;
}

/**
 * `whole × part ÷ of`, rounded down to a whole number: e.g. the milliseconds that a rest lasts when something was used
 * up in so many.
 */
export function scaleWhole(whole: number, part: string, of: string): number {
  const [some, all] = aligned(part, of);
  return Number((BigInt(Math.trunc(whole)) * some) / all);
}
