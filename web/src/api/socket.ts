import { type Client, createClient } from "graphql-ws";
import { stringifyDocument, type TypedDocumentNode } from "urql";
import { extensionsFor, isUnknownDocument } from "./documents";
import { codeOf } from "./errors";

const PING_EVERY_MS = 12_000;
const PONG_WITHIN_MS = 5_000;

/** How a subscription ended, in the words of the wire. */
export type SocketEnd =
  | { type: "complete" }
  | { type: "closed"; code: number }
  | { type: "errors"; code: string | null; message: string; retryAfterSeconds: number | null }
  | { type: "aborted" };

/**
 * Runs one subscription over a socket of its own, and never retries: who resumes must say from where, and only the
 * caller knows. Resolves when the subscription has ended, for whatever reason.
 */
export function subscribeOverSocket<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  onData: (data: Data) => void,
  signal: AbortSignal,
  /** The server has taken the connection, and the subscription is on its way. */
  onOpen?: () => void,
): Promise<SocketEnd> {
  const client = createSocketClient();
  if (onOpen) client.on("connected", onOpen);
  return new Promise<SocketEnd>((resolve) => {
    const finish = (end: SocketEnd) => {
      signal.removeEventListener("abort", abort);
      resolve(end);
      close(client);
    };
    const begin = (payload: { query: string; extensions?: Record<string, unknown> }) =>
      client.subscribe<Data>(
        { ...payload, variables },
        {
          next: (message) => {
            const error = message.errors?.[0];
            if (error) finish(errorsEnd(error));
            else if (message.data) onData(message.data);
          },
          error: (reason) => {
            const end = endOf(reason);
            if (payload.extensions && end.type === "errors" && isUnknownDocument(end.code)) {
              unsubscribe = begin({ query: stringifyDocument(document) });
            } else finish(end);
          },
          complete: () => finish({ type: "complete" }),
        },
      );
    const extensions = extensionsFor(operationNameOf(document));
    let unsubscribe = begin(
      extensions ? { query: "", extensions } : { query: stringifyDocument(document) },
    );
    function abort() {
      finish({ type: "aborted" });
      unsubscribe();
    }
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** An attempt to connect that is still under way may fail, which is of no interest any more. */
function close(client: Client): void {
  Promise.resolve(client.dispose()).catch(() => {});
}

function operationNameOf(document: TypedDocumentNode<unknown, never>): string | undefined {
  for (const definition of document.definitions) {
    if (definition.kind === "OperationDefinition") return definition.name?.value;
  }
  return undefined;
}

function createSocketClient(): Client {
  let pongTimer: ReturnType<typeof setTimeout> | undefined;
  const client = createClient({
    url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/graphql`,
    lazy: true,
    retryAttempts: 0,
    keepAlive: PING_EVERY_MS,
    on: {
      // A connection that died without a word is found out by the pong that does not come.
      ping: (received) => {
        if (!received) pongTimer = setTimeout(() => client.terminate(), PONG_WITHIN_MS);
      },
      pong: (received) => {
        if (received) clearTimeout(pongTimer);
      },
      closed: () => clearTimeout(pongTimer),
    },
  });
  return client;
}

function endOf(reason: unknown): SocketEnd {
  if (Array.isArray(reason) && reason.length > 0) return errorsEnd(reason[0]);
  if (typeof reason === "object" && reason !== null && "code" in reason) {
    return { type: "closed", code: Number(reason.code) };
  }
  return { type: "closed", code: 1006 };
}

function errorsEnd(error: { message: string; extensions?: Record<string, unknown> }): SocketEnd {
  const wait = error.extensions?.retryAfterSeconds;
  return {
    type: "errors",
    code: codeOf(error),
    message: error.message,
    retryAfterSeconds: typeof wait === "number" ? wait : null,
  };
}
