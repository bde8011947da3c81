// Money travels as exact decimals in strings and is never a float, so it is added as whole numbers of the
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

function rescale(value: Scaled, scale: number): bigint {
  return value.units * 10n ** BigInt(scale - value.scale);
}

export function addDecimals(left: string, right: string): string {
  const a = parse(left);
  const b = parse(right);
  const scale = Math.max(a.scale, b.scale);
  const sum = rescale(a, scale) + rescale(b, scale);
  const digits = (sum < 0n ? -sum : sum).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  return `${sum < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
