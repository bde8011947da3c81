// @vitest-environment happy-dom

import type { OperationDefinitionNode } from "graphql";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { Client, type Operation, Provider } from "urql";
import { beforeEach, expect, it } from "vitest";
import { fromPromise, map, mergeMap } from "wonka";
import { SessionFeed } from "../feed/feed";
import type { Outbox } from "./outbox";
import { OutboxesContext, useOutboxRetry } from "./outboxes";
import { type SessionOutbox, useOutbox } from "./useOutbox";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
beforeEach(() => localStorage.clear());

it("sends a message when the connection is back, though its session's page was left", async () => {
  let reachable = false;
  const keys: string[] = [];
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    exchanges: [
      () =>
        mergeMap(
          (operation: Operation) =>
            fromPromise(
              (async () => {
                keys.push(operation.variables?.input?.idempotencyKey);
                const data = { sendMessage: { message: { id: "msg_1" }, userErrors: [] } };
                return { operation, data: reachable ? data : null, stale: false, hasNext: false };
              })(),
            ) as never,
        ) as never,
    ],
  });
  const feed = new SessionFeed(async () => null as never).getSnapshot();
  const outboxes = new Map<string, Outbox>();
  let session: SessionOutbox | undefined;
  function Session() {
    session = useOutbox("sess_1", feed);
    return null;
  }
  function Frame({ page, live }: { page: string; live: boolean }) {
    useOutboxRetry(live);
    return page === "session" && <Session />;
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  const show = (page: string, live: boolean) =>
    act(async () =>
      root.render(
        <Provider value={client}>
          <OutboxesContext value={outboxes}>
            <Frame page={page} live={live} />
          </OutboxesContext>
        </Provider>,
      ),
    );

  await show("session", false);
  await act(async () => session?.send({ text: "Hello", delivery: "STEER" }));
  expect(session?.entries).toMatchObject([{ state: "stalled" }]);
  await show("agents", false);
  reachable = true;
  await show("agents", true);
  await show("session", true);
  expect(session?.entries).toMatchObject([{ state: "sent", messageId: "msg_1" }]);
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);
  await act(async () => root.unmount());
});

it("names a session with its first message, unless somebody has named it meanwhile", async () => {
  const named: string[] = [];
  let title: string | null = "Named by hand";
  const answers: Record<string, () => unknown> = {
    SendMessage: () => ({ sendMessage: { message: { id: "msg_1" }, userErrors: [] } }),
    SessionTitle: () => ({ session: { id: "sess_1", title } }),
    UpdateSessionTitle: () => ({ updateSession: { session: null, userErrors: [] } }),
  };
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    exchanges: [
      () =>
        map((operation: Operation) => {
          const { name } = operation.query.definitions[0] as OperationDefinitionNode;
          if (name?.value === "UpdateSessionTitle") named.push(operation.variables?.title);
          const data = answers[name?.value ?? ""]?.();
          return { operation, data, error: undefined, stale: false, hasNext: false };
        }) as never,
    ],
  });
  const feed = new SessionFeed(async () => null as never).getSnapshot();
  let session: SessionOutbox | undefined;
  function Session() {
    session = useOutbox("sess_1", feed);
    return null;
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(async () =>
    root.render(
      <Provider value={client}>
        <OutboxesContext value={new Map()}>
          <Session />
        </OutboxesContext>
      </Provider>,
    ),
  );
  const send = () =>
    act(async () => session?.send({ text: "Hello", delivery: "STEER", title: "Hello" }));
  await send();
  expect(named).toEqual([]);
  title = null;
  await send();
  expect(named).toEqual(["Hello"]);
  await act(async () => root.unmount());
});
