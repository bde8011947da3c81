// follow.mjs follows one session with several clients, and prints each event as a line of JSON. Its argument is JSON:
// {"token": …, "session": …, "clients": [{"name": …, "url": …}]}. It ends with its standard input.
import { EventSource } from "eventsource";
import WebSocket from "ws";
import * as apollo from "./recipes/apollo.mjs";
import * as eventsource from "./recipes/eventsource.mjs";
import * as graphqlSSE from "./recipes/graphql-sse.mjs";
import * as graphqlWS from "./recipes/graphql-ws.mjs";
import * as urql from "./recipes/urql.mjs";

globalThis.WebSocket ??= WebSocket; // browsers have it, and Node from version 22 on; Apollo looks for it

const recipes = {
  "graphql-ws": graphqlWS.follow,
  "graphql-sse": graphqlSSE.follow,
  apollo: apollo.follow,
  "urql-sse": urql.overSSE,
  "urql-ws": urql.overWebSocket,
  eventsource: eventsource.follow,
};

const { token, session, clients } = JSON.parse(process.argv[2]);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// The connections are cut often, so the clients come back soon.
const wait = (failures) => new Promise((resolve) => setTimeout(resolve, Math.min(200, 5 + 10 * failures)));

// urql aborts a request that has ended already, which leaves an AbortError that nobody catches.
process.on("unhandledRejection", (e) => {
  if (e?.name !== "AbortError") throw e;
});

const stops = clients.map(({ name, url }) =>
  recipes[name]({
    url,
    session,
    wait,
    EventSource,
    webSocketImpl: WebSocket,
    token: async () => token,
    onEvent: (event) => print({ client: name, event }),
    onError: (e) => print({ client: name, error: String(e?.message ?? JSON.stringify(e)) }),
  }),
);

process.stdin.resume();
process.stdin.on("end", async () => {
  await Promise.allSettled(stops.map((stop) => stop())); // a client that was connecting fails
  process.exit(0);
});
