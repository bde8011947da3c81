/** What is to be changed of what an address holds; undefined removes it. */
export type Change<Search> = { [Key in keyof Search]?: Search[Key] | undefined };

export function changed<Search extends object>(search: Search, change: Change<Search>): Search {
  const all = Object.entries({ ...search, ...change });
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Search;
}
