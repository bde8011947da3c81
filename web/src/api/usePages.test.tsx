// @vitest-environment happy-dom

import { parse } from "graphql";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { Client, CombinedError, type Operation, Provider, type TypedDocumentNode } from "urql";
import { expect, it } from "vitest";
import { map } from "wonka";
import { type Connection, joined, type Pages, usePages } from "./usePages";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

type Ship = { id: string };
const ShipsDocument = parse(
  "query Ships($first: Int!, $after: Cursor, $fleet: String) { ships(first: $first, after: $after, fleet: $fleet) { nodes { id } pageInfo { hasNextPage endCursor } } }",
) as TypedDocumentNode<
  { ships: Connection<Ship> },
  { first: number; after?: string | null; fleet: string }
>;

const page = (id: string, endCursor: string | null): Connection<Ship> => ({
  nodes: [{ id }],
  pageInfo: { hasNextPage: endCursor !== null, endCursor },
});

it("forgets that a later page failed with the next reading, and with another list", async () => {
  let reachable = true;
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    exchanges: [
      () =>
        map((operation: Operation) => ({
          operation,
          ...(operation.variables?.after && !reachable
            ? { data: undefined, error: new CombinedError({ networkError: new Error("away") }) }
            : {
                data: { ships: operation.variables?.after ? page("b", null) : page("a", "cursor") },
                error: undefined,
              }),
          stale: false,
          hasNext: false,
        })) as never,
    ],
  });
  let list: Pages<Ship> | undefined;
  function List({ fleet }: { fleet: string }) {
    list = usePages(ShipsDocument, { first: 1, fleet }, (data) => data.ships);
    return null;
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  const show = (fleet: string) =>
    act(async () =>
      root.render(
        <Provider value={client}>
          <List fleet={fleet} />
        </Provider>,
      ),
    );
  const loadMore = () => act(async () => list?.loadMore());

  await show("north");
  reachable = false;
  await loadMore();
  expect(list?.error?.networkError).toBeDefined();
  expect(list?.nodes).toEqual([{ id: "a" }]);
  await act(async () => list?.reload());
  expect(list?.error).toBeUndefined();

  await loadMore();
  expect(list?.error).toBeDefined();
  await show("south");
  expect(list?.error).toBeUndefined();

  reachable = true;
  await loadMore();
  expect(list).toMatchObject({ nodes: [{ id: "a" }, { id: "b" }], hasMore: false });
  await act(async () => root.unmount());
});

it("holds what has moved on to a later page once", () => {
  expect(joined([page("a", "1"), page("b", "2"), page("a", null)])).toEqual([
    { id: "a" },
    { id: "b" },
  ]);
  // What has no identity is all there.
  const line = () => ({ nodes: [{ at: 1 }], pageInfo: { hasNextPage: false, endCursor: null } });
  expect(joined([line(), line()])).toHaveLength(2);
});
