// Compares the schema with that of the last release, of which graph/contract/released.graphqls is a copy.
//
//   npm run schema:check      fails when clients of the last release could break
//   npm run schema:release    makes the schema of today the last release's; part of a release
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildASTSchema, extendSchema, isTypeExtensionNode, parse, print, visit } from "graphql";

/** It tells the code generator how to make the server; clients know nothing of it. */
const INTERNAL = "goField";

/** The definitions of sources, without what is none of the clients' business. */
export function documentOf(sources) {
  const document = { kind: "Document", definitions: sources.flatMap((s) => parse(s).definitions) };
  return visit(document, {
    Directive: ({ name }) => (name.value === INTERNAL ? null : undefined),
    DirectiveDefinition: ({ name }) => (name.value === INTERNAL ? null : undefined),
  });
}

export function schemaOf(sources) {
  const { kind, definitions } = documentOf(sources);
  const [extensions, types] = [[], []];
  for (const d of definitions) (isTypeExtensionNode(d) ? extensions : types).push(d);
  return extendSchema(buildASTSchema({ kind, definitions: types }), {
    kind,
    definitions: extensions,
  });
}

/** What a dotted path such as `Agent.history.first` leads to in a schema; undefined when it isn't there. */
function lookUp(schema, path) {
  const [type, member, argument] = path.split(".");
  const definition = schema.getType(type);
  if (member === undefined) return definition;
  const found = definition?.getFields?.()[member] ?? definition?.getValue?.(member) ?? undefined;
  return argument === undefined ? found : found?.args?.find(({ name }) => name === argument);
}

const DATE = /\b\d{4}-\d{2}-\d{2}\b/;

/** What was deprecated may go after the date that the deprecation names. */
function wasAnnounced(schema, { type, path }, today) {
  if (!type.endsWith("_REMOVED")) return false;
  const date = DATE.exec(lookUp(schema, path)?.deprecationReason ?? "")?.[0];
  return date !== undefined && date < today;
}

/** A permission that something of the last release needs and did not need then. */
function closes(schema, { type, path }) {
  if (!/^DIRECTIVE_USAGE_.*_ADDED$/.test(type)) return false;
  const [element, rest] = (path ?? "").split(".@auth");
  return rest !== undefined && lookUp(schema, element) !== undefined;
}

/** The changes from one schema to the next that can break a client. today is YYYY-MM-DD. */
export async function breakingChanges(released, current, today) {
  const changes = await diff(released, current);
  return changes.filter((change) =>
    change.criticality.level === CriticalityLevel.Breaking
      ? !wasAnnounced(released, change, today)
      : closes(released, change),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const graph = new URL("../../graph/", import.meta.url);
  const read = (path) => readFileSync(new URL(path, graph), "utf8");
  const files = readdirSync(new URL("schema/", graph)).filter((f) => f.endsWith(".graphqls"));
  const sources = files.sort().map((file) => read(`schema/${file}`));
  const copy = "contract/released.graphqls";
  if (process.argv[2] === "release") {
    const text = print(documentOf(sources));
    writeFileSync(
      new URL(copy, graph),
      `# The schema of the last release. It is made by npm run schema:release in web, and by nothing else.\n\n${text}\n`,
    );
    console.log(`graph/${copy} is the schema of today`);
  } else {
    const today = new Date().toISOString().slice(0, 10);
    const breaking = await breakingChanges(schemaOf([read(copy)]), schemaOf(sources), today);
    for (const { message } of breaking)
      console.error(`breaks clients of the last release: ${message}`);
    if (breaking.length > 0) {
      console.error(
        "Add beside what is there, and deprecate it with a date: docs/api.md, Changes of the API.",
      );
      process.exit(1);
    }
    console.log("no change breaks clients of the last release");
  }
}
