/** Agents in processes of their own, in both languages; and agents that have to prove who they are. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { errors } from "./totonoe.ts";
import { Daemon, PYTHON } from "./daemon.ts";

const run = promisify(execFile);
const TIME = { timeout: 40_000 };
// Another address of this machine: there, a daemon wants TLS.
const HOST = "127.0.0.2";

const IN_PYTHON = `
import sys, totonoe
with totonoe.Client(sys.argv[1], agent_id=sys.argv[2]) as client:
    print(client.remember("The gate code is 4711.").memory_id)
`;
const IN_TYPESCRIPT = `
import { Totonoe } from "totonoe";
const [address, agentId] = process.argv.slice(1);
console.log((await new Totonoe({ address, agentId }).remember("The gate code is 4711.")).memoryId);
`;

test("16 processes in two languages that say the same save it once, and each ends by itself", async () => {
  const daemon = new Daemon();
  try {
    await daemon.start();
    const said = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const [command, script]: [string, string[]] =
          index % 2 === 0
            ? [PYTHON, ["-c", IN_PYTHON]]
            : [process.execPath, ["--input-type=module", "--eval", IN_TYPESCRIPT]];
        const options = { ...TIME, cwd: import.meta.dirname };
        return run(command, [...script, daemon.address, `agent-${index}`], options);
      }),
    );
    assert.equal(new Set(said.map(({ stdout }) => stdout.trim())).size, 1);
    const { collections } = await daemon.client().stats();
    assert.equal(collections[0]?.savedCount, 1);
    assert.equal(collections[0]?.activeCount, 1);
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
});

describe("TLS", { skip: process.platform === "darwin" }, () => {
  test("a token proves an agent over TLS; who has none, or trusts another authority, gets nothing", async () => {
    const port = await freePort();
    const certs = mkdtempSync(join(tmpdir(), "totonoe-ts-"));
    const cert = join(certs, "server.pem");
    const key = join(certs, "server.key");
    const daemon = new Daemon(["--tls-cert", cert, "--tls-key", key], `https://${HOST}:${port}`);
    try {
      await totonoe("certs", "init", "--dir", certs);
      await totonoe("certs", "server", "--name", HOST, "--dir", certs);
      const created = await totonoe(
        ...["tokens", "create", "ann", "--grant", "*:read,remember", "--data-dir", daemon.dataDir, "--json"],
      );
      const { token } = JSON.parse(created) as { token: string };
      const ca = join(certs, "ca.pem");
      await daemon.start({ token, ca });

      const ann = daemon.client({ token, ca });
      const { memoryId } = await ann.remember("Said over TLS.");
      assert.equal((await ann.get(memoryId)).agentId, "ann");
      await assert.rejects(ann.forget(memoryId), errors.PermissionDenied);
      await assert.rejects(daemon.client({ token, ca, agentId: "ben" }).stats(), { reason: "AGENT_MISMATCH" });
      ann.close();

      await assert.rejects(daemon.client({ ca }).stats(), { name: "Unauthenticated", reason: "TOKEN_MISSING" });
      const another = `ttn_${"a".repeat(43)}`;
      await assert.rejects(daemon.client({ ca, token: another }).stats(), { reason: "TOKEN_INVALID" });
      await assert.rejects(daemon.client({ token }).stats(), errors.HandshakeFailed);
      const plain = daemon.client({ address: `${HOST}:${port}`, timeoutMs: 500 });
      await assert.rejects(plain.stats(), errors.TotonoeError);
    } finally {
      await daemon[Symbol.asyncDispose]();
      rmSync(certs, { recursive: true });
    }
  });
});

async function totonoe(...words: string[]): Promise<string> {
  return (await run(join(PYTHON, "..", "totonoe"), words, TIME)).stdout;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, HOST);
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
