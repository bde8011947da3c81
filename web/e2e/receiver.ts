import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

interface Told {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A program that webhooks lead to. */
export class Receiver {
  /** What it has heard, in order. */
  readonly heard: Told[] = [];
  /** The status of its answers from now on. */
  status = 204;

  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on("request", (request, response) => {
      let body = "";
      request.setEncoding("utf8");
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        receiver.heard.push({ headers: request.headers, body });
        response.writeHead(receiver.status).end();
      });
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/ostler`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Whether a secret has signed what was heard. */
export function isSignedWith(secret: string, { headers, body }: Told): boolean {
  const header = String(headers["ostler-signature"]);
  const [time = "", ...signatures] = header.split(",");
  const want = createHmac("sha256", Buffer.from(secret, "base64"))
    .update(`${time.replace("t=", "")}.${body}`)
    .digest("hex");
  return signatures.includes(`v1=${want}`);
}
