import type { UserError } from "@/api/errors";

/** Leads to a field: the names of objects' fields and the places in lists. */
export type Path = readonly string[];

/** Something wrong with a field. */
export interface FieldError {
  path: Path;
  message: string;
}

/** What the server says about the settings of the capability at `index` of the input. */
export function settingsErrors(refusals: readonly UserError[], index: number): FieldError[] {
  return refusals.flatMap(({ path, message }) => {
    const at = path[0] === "input" ? path.slice(1) : path;
    const [field, place, config, ...rest] = at;
    if (field !== "capabilities" || place !== String(index) || config !== "config") return [];
    return [{ path: rest, message }];
  });
}

/** The errors at a field itself, and those below it that none of its own fields shows. */
export function errorsAt(
  errors: readonly FieldError[],
  path: Path,
  shows: (key: string) => boolean = () => false,
): string[] {
  return errors
    .filter((error) => isUnder(error.path, path))
    .filter((error) => {
      const next = error.path[path.length];
      return next === undefined || !shows(next);
    })
    .map(({ message }) => message);
}

export function hasErrors(errors: readonly FieldError[], path: Path): boolean {
  return errors.some((error) => isUnder(error.path, path));
}

function isUnder(path: Path, ancestor: Path): boolean {
  return ancestor.every((token, index) => path[index] === token);
}
