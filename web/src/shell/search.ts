/** What is to be changed of what an address holds; undefined removes it. */
export type Change<Search> = { [Key in keyof Search]?: Search[Key] | undefined };

export function changed<Search extends object>(search: Search, change: Change<Search>): Search {
  const all = Object.entries({ ...search, ...change });
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Search;
}

/** Reads one parameter of an address; undefined for what makes no sense. */
type Reader<Value> = (value: unknown) => Value | undefined;

/** The router reads `?q=42` as a number. */
export const text: Reader<string> = (value) => String(value ?? "") || undefined;
export const trimmed: Reader<string> = (value) => text(value)?.trim() || undefined;
export const flag: Reader<true> = (value) => String(value) === "true" || undefined;

/** A whole number above zero. */
export const count: Reader<number> = (value) => {
  const number = Number(value);
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
};

export function oneOf<const Value>(values: readonly Value[]): Reader<Value> {
  return (value) => values.find((each) => each === value);
}

type SearchOf<Readers extends Record<string, Reader<unknown>>> = {
  [Key in keyof Readers]?: NonNullable<ReturnType<Readers[Key]>>;
};

/** How a route reads its address: each parameter by its reader, and none besides. */
export function searchOf<Readers extends Record<string, Reader<unknown>>>(readers: Readers) {
  return (search: Record<string, unknown>): SearchOf<Readers> => {
    const read = Object.entries(readers).map(([name, reader]) => [name, reader(search[name])]);
    return changed({}, Object.fromEntries(read));
  };
}
