import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { GUIDES, guideLink, headingId, readGuide } from "./guides";

it("lists guides that are there", async () => {
  for (const { name } of GUIDES) expect(await readGuide(name)).toMatch(/^# /);
  expect(readGuide("../README")).toBeUndefined();
});

it("follows links between guides, and none to what isn't here", () => {
  expect(guideLink("webhooks.md#retries")).toEqual({ name: "webhooks", hash: "retries" });
  expect(guideLink("#transports")).toEqual({ name: null, hash: "transports" });
  expect(guideLink("../graph/schema")).toBeNull();
  expect(guideLink("examples/first-turn")).toBeNull();
});

it("names headings as links within a guide do", () => {
  const text = readFileSync("../docs/api.md", "utf8");
  const ids = [...text.matchAll(/^##+ (.+)$/gm)].map(([, heading]) =>
    headingId((heading ?? "").replaceAll("`", "")),
  );
  const linked = [...text.matchAll(/\]\(#([\w-]+)\)/g)].map(([, hash]) => hash);
  expect(linked.length).toBeGreaterThan(0);
  expect(ids).toEqual(expect.arrayContaining(linked));
});
