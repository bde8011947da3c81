import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { RevisionFieldsFragment } from "@/gql/graphql";
import { RevisionDiff } from "./RevisionDiff";

const first: RevisionFieldsFragment = {
  number: 1,
  reason: null,
  snapshot: { name: "helper", systemPrompt: "Be kind.", tags: [] },
  createdAt: "2026-01-01T00:00:00Z",
  actor: { kind: "USER", name: "Ada" },
  changes: [],
};

it("shows what the first revision says, for there is none to compare it with", () => {
  const html = renderToStaticMarkup(
    <RevisionDiff
      revisions={[first]}
      before={first}
      after={first}
      names={new Map()}
      onCompare={() => {}}
    />,
  );
  expect(html).toContain("Be kind.");
  expect(html).toContain("helper");
  expect(html).not.toContain("Nothing differs");
});
