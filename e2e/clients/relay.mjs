// relay.mjs compiles the documents of relay/ against the schema that a server gives. Its argument is JSON:
// {"url": …, "token": …, "dir": …}; everything is written into dir.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { buildClientSchema, getIntrospectionQuery, printSchema } from "graphql";

const { url, token, dir } = JSON.parse(process.argv[2]);
const answer = await fetch(url, {
  method: "POST",
  headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
  body: JSON.stringify({ query: getIntrospectionQuery() }),
});
const { data, errors } = await answer.json();
if (errors) throw new Error(JSON.stringify(errors));

cpSync("relay", join(dir, "src"), { recursive: true });
mkdirSync(join(dir, "artifacts"));
writeFileSync(join(dir, "schema.graphql"), printSchema(buildClientSchema(data)));
const config = { src: "./src", schema: "./schema.graphql", language: "javascript", artifactDirectory: "./artifacts" };
writeFileSync(join(dir, "relay.config.json"), JSON.stringify(config));
const compiler = createRequire(import.meta.url).resolve("relay-compiler/cli.js");
execFileSync(process.execPath, [compiler, "relay.config.json"], { cwd: dir, stdio: ["ignore", "inherit", "inherit"] });
