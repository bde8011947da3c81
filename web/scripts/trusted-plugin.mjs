// A plugin of graphql-codegen: the dashboard's documents by their SHA-256, as the server may be told to trust
// (`as: manifest`), and the hashes by the names of the operations, as the dashboard sends them (`as: ids`).
import { createHash } from "node:crypto";
import { formatDocument } from "@urql/core";
import { print, visit } from "graphql";

/** The definitions that an operation needs: itself, then its fragments by name. */
function closureOf(operation, fragments) {
  const needed = new Map();
  const collect = (node) =>
    visit(node, {
      FragmentSpread: ({ name: { value } }) => {
        if (needed.has(value)) return;
        const fragment = fragments.get(value);
        if (!fragment)
          throw new Error(`${operation.name.value} spreads ${value}, which is nowhere`);
        needed.set(value, fragment);
        collect(fragment);
      },
    });
  collect(operation);
  return [operation, ...[...needed.keys()].sort().map((name) => needed.get(name))];
}

/** What the server gets. Queries and mutations go through the cache, which needs to know the type of each object. */
export function textOf(operation, fragments) {
  const document = { kind: "Document", definitions: closureOf(operation, fragments) };
  return print(operation.operation === "subscription" ? document : formatDocument(document));
}

/** All operations of the documents, as `{ name, hash, text }`. */
export function operationsOf(documents) {
  const definitions = documents.flatMap(({ document }) => document.definitions);
  const fragments = new Map(
    definitions.filter((d) => d.kind === "FragmentDefinition").map((d) => [d.name.value, d]),
  );
  const names = new Set();
  return definitions
    .filter((d) => d.kind === "OperationDefinition")
    .map((operation) => {
      const name = operation.name?.value;
      if (!name || names.has(name)) throw new Error(`operations need names of their own: ${name}`);
      names.add(name);
      const text = textOf(operation, fragments);
      return { name, hash: createHash("sha256").update(text).digest("hex"), text };
    });
}

const by = (key) => (a, b) => (a[key] < b[key] ? -1 : 1);

export function plugin(_schema, documents, { as }) {
  const operations = operationsOf(documents);
  if (as === "manifest") {
    const entries = operations.sort(by("hash")).map(({ hash, text }) => [hash, text]);
    return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
  }
  const lines = operations.sort(by("name")).map(({ name, hash }) => `  ${name}: "${hash}",`);
  return `/** The SHA-256 of each operation's document in trusted/current.json. */\nexport const documentIds: Readonly<Record<string, string>> = {\n${lines.join("\n")}\n};\n`;
}
