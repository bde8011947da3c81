import { documentIds } from "@/gql/documentIds";

/**
 * Operations are sent by the hash of their document, which the server has in its manifest: it may have been told to trust
 * no others. A server of another version, in the middle of an update, may lack one; then it gets the text.
 */

const UNKNOWN = "PERSISTED_QUERY_NOT_FOUND";

/** What stands for the text of an operation's document, if the build knows it. */
export function extensionsFor(operationName: string | undefined) {
  const sha256Hash = operationName && documentIds[operationName];
  return sha256Hash ? { persistedQuery: { version: 1, sha256Hash } } : undefined;
}

export function isUnknownDocument(code: string | null): boolean {
  return code === UNKNOWN;
}

/** The `fetch` of the GraphQL client. */
export const fetchByHash: typeof fetch = async (input, init) => {
  if (typeof init?.body !== "string") return fetch(input, init);
  const { query, ...request } = JSON.parse(init.body);
  const extensions = extensionsFor(request.operationName);
  if (!query || !extensions) return fetch(input, init);
  const body = JSON.stringify({ ...request, extensions: { ...request.extensions, ...extensions } });
  const response = await fetch(input, { ...init, body });
  return (await refusesHash(response)) ? fetch(input, init) : response;
};

/** Such a refusal is short: no other answer is read twice. */
const LONGEST_REFUSAL = 1000;

async function refusesHash(response: Response): Promise<boolean> {
  const length = response.headers.get("content-length");
  if (length === null || Number(length) > LONGEST_REFUSAL) return false;
  return (await response.clone().text()).includes(`"${UNKNOWN}"`);
}
