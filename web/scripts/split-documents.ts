import type { Plugin } from "vite";

const NAME = "virtual:gql-document/";
const RESOLVED = `\0${NAME}`;
/** How codegen writes a document: on one line, with the fragments that it needs. */
const DOCUMENT = /^export const (\w+) = (\{"kind":"Document".*\}) as unknown as .*;$/gm;

/**
 * Gives each document a module of its own. In the one module that codegen makes they would all be part of the first load,
 * because the first page needs some of them; so each page brings those that it asks for.
 */
export function splitDocuments(): Plugin {
  const documents = new Map<string, string>();
  return {
    name: "split-documents",
    apply: "build",
    enforce: "pre",
    resolveId: (id) => (id.startsWith(NAME) ? `\0${id}` : null),
    load(id) {
      if (!id.startsWith(RESOLVED)) return null;
      const name = id.slice(RESOLVED.length);
      return { code: `export const ${name} = ${documents.get(name)};`, moduleSideEffects: false };
    },
    transform(code, id) {
      if (!id.endsWith("/src/gql/graphql.ts")) return null;
      const split = code.replace(DOCUMENT, (_, name: string, document: string) => {
        documents.set(name, document);
        return `export { ${name} } from "${NAME}${name}";`;
      });
      if (split.includes('{"kind":"Document"')) {
        this.error("codegen writes documents in another way than scripts/split-documents.ts reads");
      }
      return { code: split, map: null, moduleSideEffects: false };
    },
  };
}
