// use.mjs uses each client as its users do, and fails when an answer is not the expected one. Its argument is JSON:
// {"url": …, "token": …, "session": …}.
import assert from "node:assert/strict";
import { ApolloClient, gql, HttpLink, InMemoryCache } from "@apollo/client/core";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { cacheExchange, Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { EventSource } from "eventsource";
import * as sse from "graphql-sse";
import * as ws from "graphql-ws";
import { pipe, take, toPromise } from "wonka";
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket; // browsers have it, and Node from version 22 on; Apollo looks for it

const { url, token, session } = JSON.parse(process.argv[2]);
const headers = { Authorization: `Bearer ${token}` };
const Viewer = "query Viewer { viewer { org { id } } }";
const Send = `mutation Send($session: ID!, $text: String!) {
  sendMessage(input: { sessionId: $session, content: [{ text: $text }] }) { turn { id } userErrors { code } }
}`;
const Begin = "subscription Begin($session: ID!) { sessionEvents(sessionId: $session, after: 0) { kind sequence } }";
const Wrong = "subscription { nothing }";
const socket = (options) =>
  ws.createClient({ url: url.replace(/^http/, "ws"), webSocketImpl: WebSocket, connectionParams: headers, retryAttempts: 0, ...options });

// first gives the first result of a client's subscribe, then ends it.
const first = (subscribe) =>
  new Promise((resolve, reject) => {
    const stop = subscribe({
      next: (result) => {
        resolve(result);
        setTimeout(() => stop());
      },
      error: reject,
      complete: () => reject(new Error("it ended without a result")),
    });
  });

const began = ({ data, errors, error }) => {
  assert.ok(!errors && !error, JSON.stringify(errors ?? error));
  assert.deepEqual({ ...data.sessionEvents, __typename: undefined }, { kind: "SESSION_STARTED", sequence: 1, __typename: undefined });
};

async function graphqlWS() {
  const client = socket();
  assert.match((await first((s) => client.subscribe({ query: Viewer }, s))).data.viewer.org.id, /^org_/);
  const sent = await first((s) => client.subscribe({ query: Send, variables: { session, text: "a" } }, s));
  assert.match(sent.data.sendMessage.turn.id, /^turn_/);
  began(await first((s) => client.subscribe({ query: Begin, variables: { session } }, s)));
  await assert.rejects(
    first((s) => client.subscribe({ query: Wrong }, s)),
    (errors) => errors[0].extensions.code === "GRAPHQL_VALIDATION_FAILED",
  );
  await client.dispose();
  const nobody = socket({ connectionParams: { Authorization: "Bearer bad" } });
  await assert.rejects(
    first((s) => nobody.subscribe({ query: Viewer }, s)),
    (closed) => closed.code === 4403,
  );
}

async function graphqlSSE() {
  const client = sse.createClient({ url, headers, retryAttempts: 0 });
  assert.match((await first((s) => client.subscribe({ query: Viewer }, s))).data.viewer.org.id, /^org_/);
  const sent = await first((s) => client.subscribe({ query: Send, variables: { session, text: "b" } }, s));
  assert.match(sent.data.sendMessage.turn.id, /^turn_/);
  began(await first((s) => client.subscribe({ query: Begin, variables: { session } }, s)));
  const wrong = await first((s) => client.subscribe({ query: Wrong }, s));
  assert.equal(wrong.errors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
  client.dispose();
  const single = sse.createClient({ url, headers, retryAttempts: 0, singleConnection: true });
  await assert.rejects(
    first((s) => single.subscribe({ query: Viewer }, s)),
    (e) => e.response.status === 400,
  );
  single.dispose();
}

async function apollo() {
  const client = socket();
  const http = new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache: new InMemoryCache() });
  assert.match((await http.query({ query: gql(Viewer) })).data.viewer.org.id, /^org_/);
  const sent = await http.mutate({ mutation: gql(Send), variables: { session, text: "c" } });
  assert.match(sent.data.sendMessage.turn.id, /^turn_/);
  const live = new ApolloClient({ link: new GraphQLWsLink(client), cache: new InMemoryCache() });
  const results = live.subscribe({ query: gql(Begin), variables: { session } });
  began(
    await first((s) => {
      const running = results.subscribe(s);
      return () => running.unsubscribe();
    }),
  );
  http.stop();
  live.stop();
  await client.dispose();
}

async function urql() {
  const begin = (client) => pipe(client.subscription(Begin, { session }), take(1), toPromise);
  const overSSE = new Client({ url, exchanges: [cacheExchange, fetchExchange], fetchOptions: { headers }, fetchSubscriptions: true });
  const viewer = await overSSE.query(Viewer, {}).toPromise();
  assert.match(viewer.data.viewer.org.id, /^org_/);
  const sent = await overSSE.mutation(Send, { session, text: "d" }).toPromise();
  assert.match(sent.data.sendMessage.turn.id, /^turn_/);
  began(await begin(overSSE));
  const wrong = await pipe(overSSE.subscription(Wrong, {}), take(1), toPromise);
  assert.equal(wrong.error.graphQLErrors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");

  const client = socket();
  const forwardSubscription = ({ query, variables }) => ({
    subscribe: (sink) => ({ unsubscribe: client.subscribe({ query, variables }, sink) }),
  });
  began(await begin(new Client({ url, exchanges: [subscriptionExchange({ forwardSubscription })], preferGetMethod: false })));
  await client.dispose();
}

async function eventSource() {
  const events = (document, variables) => {
    const source = new EventSource(`${url}?${new URLSearchParams({ query: document, variables: JSON.stringify(variables) })}`, {
      fetch: (address, init) => fetch(address, { ...init, headers: { ...init.headers, ...headers } }),
    });
    return new Promise((resolve, reject) => {
      const seen = [];
      const keep = (message) => {
        seen.push(message);
        if (message.type === "complete" || message.lastEventId) {
          source.close();
          resolve(seen);
        }
      };
      source.addEventListener("next", keep);
      source.addEventListener("complete", keep);
      source.addEventListener("error", reject);
    });
  };
  const [message] = await events(Begin, { session });
  began(JSON.parse(message.data));
  assert.match(message.lastEventId, /^1\./); // the place, and what stands there
  const [viewer, complete] = await events(Viewer, {});
  assert.match(JSON.parse(viewer.data).data.viewer.org.id, /^org_/);
  assert.equal(complete.type, "complete");
}

// urql aborts a request that has ended already, which leaves an AbortError that nobody catches.
process.on("unhandledRejection", (e) => {
  if (e?.name !== "AbortError") throw e;
});

for (const use of [graphqlWS, graphqlSSE, apollo, urql, eventSource]) {
  await use();
  process.stdout.write(`${use.name}\n`);
}
process.exit(0);
