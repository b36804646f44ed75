/** A real daemon in a process of its own, as a user starts it. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Totonoe, type TotonoeOptions } from "totonoe";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** The interpreter of the project's environment; `TOTONOE_PYTHON` names another. */
export const PYTHON: string = process.env["TOTONOE_PYTHON"] ?? join(ROOT, ".venv", "bin", "python");
const START_MS = 100_000;
const END_MS = 10_000;

// What the tests start must not find a daemon or an identity of whoever runs them.
for (const name of Object.keys(process.env)) if (name.startsWith("TOTONOE_")) delete process.env[name];

/** Starts and stops `totonoe serve` on a socket in a folder of its own. */
export class Daemon implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "totonoe-ts-"));
  readonly address: string;
  readonly #options: readonly string[];
  #process: ChildProcess | undefined;

  constructor(options: readonly string[] = [], address?: string) {
    this.address = address ?? `unix:${join(this.folder, "s")}`;
    this.#options = options;
  }

  get dataDir(): string {
    return join(this.folder, "data");
  }

  /** Starts it and returns when it answers. */
  async start(probe: TotonoeOptions = {}): Promise<void> {
    const log = openSync(join(this.folder, "log"), "a");
    const common = ["--data-dir", this.dataDir, "--embedder", "hashing"];
    const listening = this.address.replace("https://", "");
    this.#process = spawn(PYTHON, ["-m", "totonoe_server", "--address", listening, ...common, ...this.#options], {
      stdio: ["ignore", log, log],
    });
    const ended = once(this.#process, "exit").then(() => {
      throw new Error(`the daemon ended: ${readFileSync(join(this.folder, "log"), "utf8")}`);
    });
    ended.catch(() => undefined);
    const client = this.client({ timeoutMs: START_MS, ...probe });
    try {
      await Promise.race([client.stats(), ended]);
    } finally {
      client.close();
    }
  }

  /** A client of it. */
  client(options: TotonoeOptions = {}): Totonoe {
    return new Totonoe({ address: this.address, agentId: "ann", ...options });
  }

  /** kill -9, and the end of the process. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    running.kill(signal);
    const late = new AbortController();
    const ended = once(running, "exit").then(() => late.abort());
    await Promise.race([ended, wait(END_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    if (running.exitCode === null && running.signalCode === null) running.kill("SIGKILL");
  }
}

