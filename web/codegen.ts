import type { CodegenConfig } from "@graphql-codegen/cli";

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
  },
};

export default config;
