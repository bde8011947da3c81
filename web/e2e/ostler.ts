import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

export const ADMIN = { email: "admin@example.com", password: "correct horse battery staple" };

const BINARY = resolve(process.env.OSTLER_E2E_BIN ?? "../bin/ostler");
const READY_WITHIN_MS = 30_000;

/** One server on a fresh data directory, which can be killed and started again in the same place. */
export class Ostler {
  #process: ChildProcess | null = null;
  #log = "";

  private constructor(
    readonly url: string,
    private readonly address: string,
    private readonly dataDir: string,
  ) {}

  static async start(): Promise<Ostler> {
    const address = `127.0.0.1:${await freePort()}`;
    const dataDir = mkdtempSync(join(tmpdir(), "ostler-e2e-"));
    const ostler = new Ostler(`http://${address}`, address, dataDir);
    await ostler.run();
    return ostler;
  }

  /** Starts the server and waits until it says that it is ready. */
  async run(): Promise<void> {
    const child = spawn(BINARY, ["serve"], {
      cwd: this.dataDir,
      env: {
        PATH: process.env.PATH,
        HOME: this.dataDir,
        OSTLER_ADDR: this.address,
        OSTLER_PUBLIC_URL: this.url,
        OSTLER_DATA_DIR: this.dataDir,
        // Tests play model providers on this machine.
        OSTLER_EGRESS_ALLOW_LOOPBACK: "true",
        // An issuer that is down: it is offered, and nobody gets in by it.
        OSTLER_OIDC_ISSUER: "http://127.0.0.1:9",
        OSTLER_OIDC_CLIENT_ID: "ostler",
        OSTLER_OIDC_NAME: "Example",
        // The dashboard must get by with its own documents.
        OSTLER_TRUSTED_DOCUMENTS: "cookies",
        OSTLER_ORG_CREATION: "everybody",
        OSTLER_ADMIN_EMAIL: ADMIN.email,
        OSTLER_ADMIN_PASSWORD: ADMIN.password,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    child.stderr.on("data", (chunk: Buffer) => {
      this.#log += chunk.toString();
    });
    await new Promise<void>((ready, fail) => {
      const timer = setTimeout(
        () => fail(new Error(`${BINARY} was not ready in time:\n${this.#log}`)),
        READY_WITHIN_MS,
      );
      const settle = (act: () => void) => {
        clearTimeout(timer);
        act();
      };
      child.once("error", (error) => settle(() => fail(error)));
      child.once("exit", (code) =>
        settle(() => fail(new Error(`${BINARY} ended with ${code}:\n${this.#log}`))),
      );
      createInterface({ input: child.stdout }).on("line", (line) => {
        this.#log += `${line}\n`;
        if (line.startsWith("ready ")) settle(ready);
      });
    });
  }

  /** Runs a command of operators beside the server, and gives what it printed. */
  admin(...args: string[]): string {
    return execFileSync(BINARY, ["admin", ...args], {
      cwd: this.dataDir,
      env: {
        PATH: process.env.PATH,
        HOME: this.dataDir,
        OSTLER_PUBLIC_URL: this.url,
        OSTLER_DATA_DIR: this.dataDir,
      },
      encoding: "utf8",
    });
  }

  /** Ends the server as a power cut would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends the server as a deployment would: it says goodbye to its streams first. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address
          ? resolve(address.port)
          : reject(new Error("no port")),
      );
    });
  });
}
