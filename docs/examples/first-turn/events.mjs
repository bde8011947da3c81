// Prints the events of a session from the first one on, until the session is at rest.
//
//   OSTLER_URL=http://127.0.0.1:8080 OSTLER_TOKEN=… node events.mjs sess_…
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

const [sessionId] = process.argv.slice(2);

// The sequence of the last durable event that was handled. A program that must not miss anything stores it, and
// subscribes with it when it comes back.
let last = 0;

const client = createClient({
  url: `${process.env.OSTLER_URL.replace(/^http/, 'ws')}/graphql`,
  webSocketImpl: WebSocket,
  connectionParams: { Authorization: `Bearer ${process.env.OSTLER_TOKEN}` },
  retryAttempts: 0, // whoever reconnects must subscribe anew, with the last sequence
});

const events = client.iterate({
  query: `
    subscription ($sessionId: ID!, $after: Int) {
      sessionEvents(sessionId: $sessionId, after: $after) {
        kind
        sequence
        ... on OutputDelta { offset delta }
        ... on ToolStarted { toolName arguments }
        ... on ToolCompleted { toolName success }
        ... on TurnCompleted { iterations usage { inputTokens outputTokens costUsd } }
        ... on TurnFailed { error { code message } }
      }
    }`,
  variables: { sessionId, after: last },
});

// These are live only: they are not stored, and carry the sequence of the durable event before them.
const ephemeral = new Set(['OUTPUT_DELTA', 'THINKING_DELTA', 'TOOL_PROGRESS', 'CAUGHT_UP']);

for await (const { data, errors } of events) {
  if (errors) throw new Error(JSON.stringify(errors));
  const { kind, sequence, ...more } = data.sessionEvents;
  if (ephemeral.has(kind)) {
    console.log(`     · ${kind} ${JSON.stringify(more)}`);
    continue;
  }
  if (sequence !== last + 1) throw new Error(`${kind} has sequence ${sequence}, but ${last + 1} is next`);
  last = sequence;
  console.log(`${String(sequence).padStart(4)}   ${kind}${Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ''}`);
  if (kind === 'SESSION_IDLED') break; // the turn has ended, and none is queued
}
console.log(`events 1 … ${last}, no gap`);
await client.dispose();
