import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { splitDocuments } from "./scripts/split-documents.ts";

const backend = "127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), tailwindcss(), splitDocuments()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    // The served policy allows no data: URIs for fonts and scripts, so nothing may be inlined.
    assetsInlineLimit: 0,
    // Read by scripts/size.mjs to tell the first load from what comes later.
    manifest: true,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "vendor", tags: ["$initial"], test: /node_modules/, priority: 3 },
            { name: "first", tags: ["$initial"], priority: 2 },
            // What the start page needs, most of which other pages need as well, and what follows the organization on all of them.
            { name: "common", test: /src\/(home\/HomePage|shell\/WaitWatch)\.tsx/, priority: 1 },
            // Left to itself, each icon that two pages share would be a file.
            {
              name: "shared",
              minShareCount: 2,
              entriesAware: true,
              entriesAwareMergeThreshold: 5_000,
            },
          ],
        },
      },
    },
  },
  server: {
    // The guides in docs/ are part of the dashboard.
    fs: { allow: [".."] },
    proxy: {
      "/graphql": {
        target: `http://${backend}`,
        ws: true,
        // The server compares Origin with its own address.
        headers: { Origin: `http://${backend}` },
      },
      "/auth": { target: `http://${backend}` },
      "/v1": { target: `http://${backend}`, headers: { Origin: `http://${backend}` } },
    },
  },
  test: {
    // What needs a document says so at its beginning: a document for each file would take half of the time.
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
  },
});
