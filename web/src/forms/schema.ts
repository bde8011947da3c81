/** What a field refers to by name: `x-reference`. */
export type Reference = "model" | "agent" | "tool" | "capability" | "secret" | "connection";

/** The part of JSON Schema 2020-12 that forms are drawn from. Hints begin with `x-`. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | readonly string[];
  title?: string;
  description?: string;
  /** Null where what holds is decided elsewhere. */
  default?: unknown;
  examples?: readonly unknown[];
  enum?: readonly unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  "x-order"?: number;
  "x-group"?: string;
  "x-multiline"?: boolean;
  /** An empty text is a value, and not the lack of one. */
  "x-empty"?: boolean;
  "x-reference"?: Reference;
  /** The words for values of `enum`. Without one, they are the values that there are to choose from. */
  "x-labels"?: Record<string, string>;
}

export type Fields = Record<string, unknown>;

/** How a value is edited. What no control fits is edited as JSON, so that nothing is lost. */
export type Kind =
  | "object"
  | "map"
  | "list"
  | "texts"
  | "choice"
  | "variants"
  | "switch"
  | "number"
  | "text"
  | "json";

/** Follows references inside of the document. What stands beside a reference wins over what it leads to. */
export function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (const seen = new Set<string>(); found.$ref !== undefined && !seen.has(found.$ref); ) {
    const { $ref, ...own } = found;
    seen.add($ref);
    found = { ...target($ref, root), ...own };
  }
  return found;
}

function target(ref: string, root: Schema): Schema {
  if (ref !== "#" && !ref.startsWith("#/")) return {};
  let at: unknown = root;
  for (const token of ref.split("/").slice(1)) {
    if (!isFields(at)) return {};
    at = at[decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return isFields(at) ? (at as Schema) : {};
}

/** The kind of control for a value that may be there already. The schema is resolved. */
export function kindOf(schema: Schema, value: unknown, root: Schema): Kind {
  const kind = kindOfSchema(schema, root);
  return value === undefined || fits(kind, value) ? kind : "json";
}

function kindOfSchema(schema: Schema, root: Schema): Kind {
  if (choicesOf(schema) !== null) return "choice";
  if (schema.oneOf ?? schema.anyOf) return "variants";
  switch (typeOf(schema)) {
    case "object":
      if (schema.properties) return "object";
      return isFields(schema.additionalProperties) ? "map" : "json";
    case "array": {
      if (!schema.items) return "json";
      const items = resolve(schema.items, root);
      return typeOf(items) === "string" && !items.enum ? "texts" : "list";
    }
    case "boolean":
      return "switch";
    case "integer":
    case "number":
      return "number";
    case "string":
      return "text";
    default:
      return "json";
  }
}

function fits(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case "object":
    case "map":
      return isFields(value);
    case "list":
      return Array.isArray(value);
    case "texts":
      return Array.isArray(value) && value.every((each) => typeof each === "string");
    case "switch":
      return typeof value === "boolean";
    // A number that is still being typed is text.
    case "number":
      return typeof value === "number" || typeof value === "string";
    case "text":
      return typeof value === "string";
    case "choice":
      return value === null || typeof value !== "object";
    default:
      return true;
  }
}

/** The one type that a value has besides null; undefined when there are several. */
export function typeOf({ type, properties, items }: Schema): string | undefined {
  if (typeof type === "string") return type;
  const types = type?.filter((each) => each !== "null") ?? [];
  if (types.length === 1) return types[0];
  if (type !== undefined) return undefined;
  return properties ? "object" : items ? "array" : undefined;
}

export interface Choice {
  value: unknown;
  label: string;
}

/** The values of which one is chosen, with their words; null when it isn't a choice. */
export function choicesOf(schema: Schema): Choice[] | null {
  const labels = schema["x-labels"];
  const values = schema.enum ?? (labels && Object.keys(labels));
  const constants = schema.oneOf ?? schema.anyOf;
  if (values) {
    if (values.some((each) => typeof each === "object" && each !== null)) return null;
    return values.map((value) => ({
      value,
      label: labels?.[String(value)] ?? words(String(value)),
    }));
  }
  if (!constants?.every((each) => "const" in each && typeof each.const !== "object")) return null;
  return constants.map(({ const: value, title }) => ({
    value,
    label: title ?? words(String(value)),
  }));
}

export interface Property {
  key: string;
  schema: Schema;
  required: boolean;
}

/** The properties of an object by group, each in its order. The nameless group comes first. */
export function groupsOf(schema: Schema, root: Schema): { name: string; properties: Property[] }[] {
  const groups = new Map<string, Property[]>([["", []]]);
  const properties = Object.entries(schema.properties ?? {})
    .map(([key, each]) => ({
      key,
      schema: resolve(each, root),
      required: schema.required?.includes(key) ?? false,
    }))
    .toSorted((left, right) => orderOf(left) - orderOf(right));
  for (const each of properties) {
    const name = each.schema["x-group"] ?? "";
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups]
    .filter(([, members]) => members.length > 0)
    .map(([name, members]) => ({ name, properties: members }));
}

function orderOf({ schema }: Property): number {
  return schema["x-order"] ?? Number.MAX_SAFE_INTEGER;
}

export function titleOf(schema: Schema, key: string): string {
  return schema.title ?? words(key);
}

/** A name of a program as words: expiresInSeconds is "Expires in seconds". */
export function words(name: string): string {
  if (/^[A-Z][A-Z_]*$/.test(name)) return words(name.toLowerCase());
  const spaced = name
    .replace(
      /([a-z0-9])([A-Z])/g,
      (_, end: string, begin: string) => `${end} ${begin.toLowerCase()}`,
    )
    .replace(/[_-]+/g, " ")
    .trim();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** What a new value begins with: an object with those of its required fields for which the schema knows something. */
export function initialOf(schema: Schema, root: Schema): unknown {
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.const !== undefined) return schema.const;
  switch (kindOfSchema(schema, root)) {
    case "object":
      return Object.fromEntries(
        groupsOf(schema, root)
          .flatMap(({ properties }) => properties)
          .filter(({ required }) => required)
          .map(({ key, schema: each }) => [key, each.default ?? each.const ?? each.enum?.[0]])
          .filter(([, value]) => value !== undefined),
      );
    case "variants":
      return initialOf(resolve((schema.oneOf ?? schema.anyOf)?.[0] ?? {}, root), root);
    case "map":
      return {};
    case "list":
    case "texts":
      return [];
    case "switch":
      return false;
    case "choice":
      return choicesOf(schema)?.[0]?.value;
    case "text":
    case "number":
      return "";
    default:
      return null;
  }
}

/**
 * The variant that a value is of, as far as its type, its constants and its required fields tell; -1 for none. A required constant
 * tells enough: other fields may still be missing while somebody types.
 */
export function variantOf(variants: readonly Schema[], value: unknown, root: Schema): number {
  return variants.findIndex((variant) => matches(resolve(variant, root), value, root));
}

function matches(schema: Schema, value: unknown, root: Schema): boolean {
  if ("const" in schema) return schema.const === value;
  if (schema.enum) return schema.enum.includes(value);
  switch (typeOf(schema)) {
    case "object": {
      if (!isFields(value)) return false;
      const constants = Object.entries(schema.properties ?? {})
        .map(([key, each]) => ({ key, property: resolve(each, root) }))
        .filter(({ property }) => "const" in property);
      const required = schema.required ?? [];
      const tells = constants.some(({ key }) => required.includes(key) && key in value);
      return (
        constants.every(({ key, property }) => !(key in value) || property.const === value[key]) &&
        (tells || required.every((key) => key in value))
      );
    }
    case "array":
      return Array.isArray(value);
    case "integer":
    case "number":
      return typeof value === "number";
    case undefined:
      return true;
    default:
      return typeof value === typeOf(schema);
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy with one field changed; undefined takes it away. All others stay, known to the schema or not, in their order. */
export function withField(fields: Fields, key: string, value: unknown): Fields {
  const { [key]: _old, ...others } = fields;
  return value === undefined ? others : { ...fields, [key]: value };
}
