import { renderToString } from "react-dom/server";
import { Client, Provider } from "urql";
import { expect, it } from "vitest";
import { map, pipe } from "wonka";
import { type Viewer, ViewerContext } from "@/shell/viewer";
import { NEW_POLICY } from "./draft";
import { PolicyFields } from "./PolicyFields";

/** The fields as whoever is one of so many members sees them. */
function shown(members: number, approvalAbove: string): string {
  const nodes = Array.from({ length: members }, (_, index) => ({ id: `member_${index}` }));
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    exchanges: [
      () => (operations) =>
        pipe(
          operations,
          map((operation) => ({
            operation,
            data: { org: { id: "org_1", members: { nodes } }, capabilities: [] },
            error: undefined,
            stale: false,
            hasNext: false,
          })),
        ),
    ],
  });
  return renderToString(
    <Provider value={client}>
      <ViewerContext value={{ permissions: ["MEMBERS_READ"] } as unknown as Viewer}>
        <PolicyFields
          draft={{ ...NEW_POLICY, approvalAbove }}
          onChange={() => {}}
          refusals={[]}
          hasSecret={false}
        />
      </ViewerContext>
    </Provider>,
  );
}

it("warns a lone owner that nobody else can approve payments", () => {
  expect(shown(1, "10")).toContain("You are the only member");
  expect(shown(1, "")).not.toContain("You are the only member");
  expect(shown(2, "10")).not.toContain("You are the only member");
});
