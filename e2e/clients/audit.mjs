// audit.mjs runs the audits of graphql-http against a server, and prints each as a line of JSON. Its argument is JSON:
// {"url": …, "token": …}.
import { auditServer } from "graphql-http";

const { url, token } = JSON.parse(process.argv[2]);
const fetchFn = (address, init) => fetch(address, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${token}` } });
for (const { id, name, status, reason } of await auditServer({ url, fetchFn })) {
  process.stdout.write(`${JSON.stringify({ id, name, status, reason })}\n`);
}
