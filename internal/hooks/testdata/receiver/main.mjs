import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

// verify reports whether a body was signed by Ostler within the last five minutes. The body is what came, byte for byte.
function verify(secret, body, header, now) {
  const [, t, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? "") ?? [];
  if (!t || Math.abs(now / 1000 - Number(t)) > 300) return false;
  const want = createHmac("sha256", secret).update(`${t}.`).update(body).digest();
  return timingSafeEqual(want, Buffer.from(signature, "hex"));
}

const secret = Buffer.from(process.env.OSTLER_HOOK_SECRET, "base64");
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!verify(secret, body, request.headers["ostler-signature"], Date.now())) {
    response.writeHead(401).end("the signature is wrong");
    return;
  }
  const { data } = JSON.parse(body);
  const answer = data.arguments?.path?.startsWith("/workspace/private/")
    ? { decision: "block", reason: "private files stay as they are" }
    : { decision: "allow" };
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
});
const [host, port] = process.env.ADDRESS.split(":");
server.listen(Number(port), host, () => console.log(`http://${host}:${server.address().port}`));
