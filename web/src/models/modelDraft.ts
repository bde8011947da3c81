import { changesOf } from "@/api/changes";
import type {
  CreateModelInput,
  ModelPriceInput,
  ModelRowFragment,
  OfferedModelFragment,
  PriceFieldsFragment,
  UpdateModelInput,
} from "@/gql/graphql";
import { formatAmount } from "@/money/amounts";

/** A model as the form holds it: every field as text, valid or not. Prices are dollars per million tokens. */
export interface ModelDraft {
  name: string;
  displayName: string;
  contextWindowTokens: string;
  maxOutputTokens: string;
  priceInput: string;
  priceOutput: string;
  priceCacheRead: string;
  priceCacheWrite: string;
}

export const emptyModel: ModelDraft = {
  name: "",
  displayName: "",
  contextWindowTokens: "",
  maxOutputTokens: "",
  priceInput: "",
  priceOutput: "",
  priceCacheRead: "",
  priceCacheWrite: "",
};

export function draftOfModel(model: ModelRowFragment | OfferedModelFragment): ModelDraft {
  const { price } = model;
  const text = (value: number | string | null | undefined) =>
    value === null || value === undefined ? "" : String(value);
  return {
    name: model.name,
    displayName: model.displayName,
    contextWindowTokens: text(model.contextWindowTokens),
    maxOutputTokens: text(model.maxOutputTokens),
    priceInput: text(price?.input),
    priceOutput: text(price?.output),
    priceCacheRead: text(price?.cacheRead),
    priceCacheWrite: text(price?.cacheWrite),
  };
}

type Problems = Partial<Record<keyof ModelDraft, string>>;

/** What is wrong with a draft before it is even sent, by field. */
export function modelProblems(draft: ModelDraft): Problems {
  const problems: Problems = {};
  if (draft.name.trim() === "") problems.name = "Enter the provider's name for the model.";
  for (const key of ["contextWindowTokens", "maxOutputTokens"] as const) {
    if (draft[key].trim() !== "" && wholeNumber(draft[key]) === null) {
      problems[key] = "Enter a whole number of tokens, or leave empty.";
    }
  }
  for (const key of PRICES) {
    if (draft[key].trim() !== "" && !isDecimal(draft[key])) {
      problems[key] = "Enter dollars per 1M tokens, such as 2.50.";
    }
  }
  const priced = PRICES.some((key) => draft[key].trim() !== "");
  if (priced && draft.priceInput.trim() === "") problems.priceInput = NEEDED;
  if (priced && draft.priceOutput.trim() === "") problems.priceOutput = NEEDED;
  return problems;
}

const PRICES = ["priceInput", "priceOutput", "priceCacheRead", "priceCacheWrite"] as const;
const NEEDED = "A price needs both input and output.";

export function createModelInput(draft: ModelDraft, providerId: string): CreateModelInput {
  return { providerId, name: draft.name.trim(), ...inputOf(draft) };
}

/** Null when nothing differs from what is stored. */
export function updateModelInput(
  draft: ModelDraft,
  stored: ModelRowFragment,
): UpdateModelInput | null {
  return changesOf(inputOf(draft), inputOf(draftOfModel(stored)));
}

function inputOf(draft: ModelDraft) {
  return {
    displayName: draft.displayName.trim() || null,
    contextWindowTokens: wholeNumber(draft.contextWindowTokens),
    maxOutputTokens: wholeNumber(draft.maxOutputTokens),
    price: priceOf(draft),
  };
}

/** Prices stay the decimals that were typed: they are money, and never go through a float. */
function priceOf(draft: ModelDraft): ModelPriceInput | null {
  const input = draft.priceInput.trim();
  const output = draft.priceOutput.trim();
  if (input === "" || output === "") return null;
  return {
    input,
    output,
    cacheRead: draft.priceCacheRead.trim() || null,
    cacheWrite: draft.priceCacheWrite.trim() || null,
  };
}

function wholeNumber(text: string): number | null {
  const digits = text.replace(/[\s,_]/g, "");
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : null;
}

function isDecimal(text: string): boolean {
  return /^\d{1,9}(\.\d{1,9})?$/.test(text.trim());
}

/** Offered models beside those that were added already, by name. */
export function splitOffered(
  offered: readonly OfferedModelFragment[],
  added: readonly { name: string }[],
): { fresh: OfferedModelFragment[]; present: number } {
  const names = new Set(added.map(({ name }) => name));
  const fresh = offered.filter(({ name }) => !names.has(name));
  return { fresh, present: offered.length - fresh.length };
}

/** "$3 in · $15 out per 1M tokens" for a table; null where no price is known. */
export function priceLine(price: PriceFieldsFragment | null): string | null {
  return (
    price &&
    `${formatAmount(price.input, "usd")} in · ${formatAmount(price.output, "usd")} out per 1M tokens`
  );
}
