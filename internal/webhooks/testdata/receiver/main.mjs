import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

// verify reports whether a body was signed by Ostler within the last five minutes. The body is what came, byte for byte. For a day after a
// rotation there are two signatures: one of them must be right.
function verify(secret, body, header, now) {
  const [, t, signatures] = /^t=(\d+)((?:,v1=[0-9a-f]{64})+)$/.exec(header ?? "") ?? [];
  if (!t || Math.abs(now / 1000 - Number(t)) > 300) return false;
  const want = createHmac("sha256", secret).update(`${t}.`).update(body).digest();
  return signatures.split(",v1=").slice(1).some((got) => timingSafeEqual(want, Buffer.from(got, "hex")));
}

const secret = Buffer.from(process.env.OSTLER_WEBHOOK_SECRET, "base64");
const seen = new Set(); // yours is in a database
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!verify(secret, body, request.headers["ostler-signature"], Date.now())) {
    response.writeHead(401).end("the signature is wrong");
    return;
  }
  const event = JSON.parse(body);
  if (!seen.has(event.id)) console.log(event.kind, event.sessionId);
  seen.add(event.id);
  response.writeHead(204).end();
});
const [host, port] = process.env.ADDRESS.split(":");
server.listen(Number(port), host, () => console.log(`http://${host}:${server.address().port}`));
