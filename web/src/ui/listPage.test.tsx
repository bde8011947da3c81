import { parse } from "graphql";
import { renderToString } from "react-dom/server";
import { Client, Provider, type TypedDocumentNode } from "urql";
import { expect, it } from "vitest";
import { fromValue, map, mergeMap, pipe } from "wonka";
import { usePages } from "@/api/usePages";
import { DataTable } from "./DataTable";
import { EmptyState } from "./EmptyState";
import { ListBody } from "./ListBody";
import { PageHeader } from "./PageHeader";

// A list page as a newcomer would add one: its document, and one component. See "Changing things" in docs/architecture.md.

interface Ship {
  id: string;
  name: string;
  crew: number;
}

interface Ships {
  ships: { nodes: Ship[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
}

const ShipsDocument = parse(
  "query Ships($first: Int!, $after: Cursor) { ships(first: $first, after: $after) { nodes { id name crew } pageInfo { hasNextPage endCursor } } }",
) as TypedDocumentNode<Ships, { first: number; after?: string | null }>;

function ShipsPage() {
  const ships = usePages(ShipsDocument, { first: 50 }, (data) => data.ships);
  return (
    <>
      <PageHeader title="Ships" />
      <ListBody
        list={ships}
        empty={
          <EmptyState icon="⛵" title="No ships yet">
            Ships appear here.
          </EmptyState>
        }
      >
        <DataTable
          page
          label="Ships"
          rows={ships.nodes}
          rowKey={({ id }) => id}
          columns={[
            { head: "Name", cell: ({ name }) => name },
            { head: "Crew", align: "right", from: "sm", cell: ({ crew }) => crew },
          ]}
        />
      </ListBody>
    </>
  );
}

/** The page as it is when the server has answered so. */
function shown(answer: { data?: Ships; error?: string }): string {
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    exchanges: [
      () => (operations) =>
        pipe(
          operations,
          mergeMap((operation) =>
            pipe(
              fromValue(answer),
              map(({ data, error }) => ({
                operation,
                data,
                error: error === undefined ? undefined : networkError(error),
                stale: false,
                hasNext: false,
              })),
            ),
          ),
        ),
    ],
  });
  return renderToString(
    <Provider value={client}>
      <ShipsPage />
    </Provider>,
  );
}

function networkError(message: string) {
  return Object.assign(new Error(message), {
    name: "CombinedError",
    graphQLErrors: [{ message, extensions: { requestId: "req_1" } }],
  }) as never;
}

const page = (nodes: Ship[], hasNextPage = false): { data: Ships } => ({
  data: { ships: { nodes, pageInfo: { hasNextPage, endCursor: hasNextPage ? "c" : null } } },
});

it("takes a document and one component for a list page in all of its states", () => {
  const filled = shown(page([{ id: "s1", name: "Vega", crew: 3 }], true));
  expect(filled).toContain("Ships</h1>");
  expect(filled).toMatch(/<th scope="row"[^>]*>Vega<\/th><td[^>]*text-right[^>]*>3<\/td>/);
  expect(filled).toContain("Load more");
  expect(shown(page([]))).toContain("No ships yet");
  expect(shown(page([]))).not.toContain("Load more");
  const failed = shown({ error: "It broke." });
  expect(failed).toContain("It broke. (request req_1)");
  expect(failed).not.toContain("No ships yet");
});
