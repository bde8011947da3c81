import type { CodegenConfig } from "@graphql-codegen/cli";

const trusted = "./scripts/trusted-plugin.mjs";

const config: CodegenConfig = {
  schema: "../graph/schema/*.graphqls",
  documents: "src/**/*.graphql",
  generates: {
    "src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: {
          Time: "string",
          JSON: "unknown",
          Decimal: "string",
          Int64: "number",
          Cursor: "string",
        },
      },
    },
    "src/gql/documentIds.ts": { plugins: [{ [trusted]: { as: "ids" } }] },
    // The server embeds it, with those of the last releases beside it.
    "trusted/current.json": { plugins: [{ [trusted]: { as: "manifest" } }] },
  },
};

export default config;
