/** What is refused before anything is sent, where a client looks for its daemon, how it tries again. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { errors, Totonoe } from "./totonoe.ts";

const TOKEN = `ttn_${"a".repeat(43)}`;
// Nothing listens here, and nothing is asked for: what is refused is refused before.
const NOWHERE = { address: "127.0.0.1:9", retry: { attemptsMax: 1 } };

test("arguments of a wrong type or value name the option and what is allowed", async () => {
  const client = new Totonoe(NOWHERE);
  const wrong: [() => Promise<unknown>, ErrorConstructor, RegExp][] = [
    [() => client.remember(5 as never), TypeError, /memory\.content: got a number, allowed: a string/],
    [() => client.remember("x", { tags: "a" as never }), TypeError, /memory\.tags: got a string, allowed: an array/],
    [() => client.remember("x", { tags: [1] as never }), TypeError, /memory\.tags\[0\]: got a number/],
    [() => client.remember("x", { colour: "red" } as never), TypeError, /colour: no such option, allowed: .*force/],
    [() => client.remember("x", { constructor: 1 } as never), TypeError, /constructor: no such option/],
    [() => client.remember("x", { kind: "thought" as never }), RangeError, /memory\.kind: got "thought", allowed: state, event, affect/],
    [() => client.remember("x", { importance: 1.5 }), RangeError, /memory\.importance: got 1\.5/],
    [() => client.remember("x", { createdTime: "today" as never }), TypeError, /memory\.createdTime: got a string, allowed: a Date/],
    [() => client.remember("x", { createdTime: new Date("no") }), RangeError, /memory\.createdTime: got an invalid Date/],
    [() => client.remember("x", { attributes: { a: Number.NaN } }), RangeError, /memory\.attributes\.a: got NaN/],
    [() => client.remember("x", { attributes: { a: new Map() } as never }), TypeError, /memory\.attributes\.a: got an object/],
    [() => client.remember("half \ud83d"), RangeError, /memory\.content: got half a character/],
    [() => client.remember("x", { vector: [] }), RangeError, /memory\.vector: got no numbers/],
    [() => client.remember("x", { vector: ["1"] as never }), TypeError, /memory\.vector\[0\]: got a string/],
    [() => client.recall("x", { k: 2 ** 40 }), RangeError, /k: got 1099511627776/],
    [() => client.recall("x", { operationId: "a" } as never), TypeError, /operationId: no such option/],
    [() => client.recall("x", { asOf: 2 ** 60 }), RangeError, /asOf\.revision: got/],
    [() => client.recall("x", { timeoutMs: 0 }), RangeError, /timeoutMs: got 0, allowed: above 0/],
    [() => client.recall("x", { signal: {} as never }), TypeError, /signal: got an object/],
    [() => client.resolve("a", "b", "maybe" as never), RangeError, /answer: got "maybe", allowed: same, different/],
    [() => client.updateCollection("a", { guard: { colour: 1 } as never }), TypeError, /collection\.guard\.colour: no such/],
  ];
  for (const [call, kind, message] of wrong) {
    const error: unknown = await call().then(() => undefined, (failure: unknown) => failure);
    assert.ok(error instanceof kind, `${message}: ${String(error)}`);
    assert.match(error.message, message);
  }
});

test("a ring of objects is refused, not followed for ever", async () => {
  const ring: Record<string, unknown> = {};
  ring["self"] = ring;
  const client = new Totonoe(NOWHERE);
  await assert.rejects(client.remember("x", { attributes: ring as never }), /nested too deep/);
});

test("options of a client are checked when it is made", () => {
  assert.throws(() => new Totonoe({ address: "nowhere" }), /address: got "nowhere", allowed: host:port/);
  assert.throws(() => new Totonoe({ address: "host:70000" }), RangeError);
  assert.throws(() => new Totonoe({ adress: "x:1" } as never), /adress: no such option/);
  assert.throws(() => new Totonoe({ agentId: 7 as never }), TypeError);
  assert.throws(() => new Totonoe({ timeoutMs: -1 }), RangeError);
  assert.throws(() => new Totonoe({ retry: { jitter: 2 } }), /jitter: got 2, allowed: 0 to 1/);
  assert.throws(() => new Totonoe({ token: "secret" }), (error: Error) => !error.message.includes("secret"));
  assert.throws(() => new Totonoe({ address: "127.0.0.1:1", ca: "/x" }), /ca: needs an address of the form https/);
  assert.throws(() => new Totonoe({ address: "https://h:1", ca: "/none" }), /ca: \/none: ENOENT/);
});

test("a token goes where nobody else can read it, and nowhere else", () => {
  for (const address of ["unix:/run/t.sock", "127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "https://h:1"]) {
    new Totonoe({ address, token: TOKEN }).close();
  }
  for (const address of ["192.0.2.1:1", "memory.example.org:1", "127.0.0.1.example.org:1"]) {
    assert.throws(() => new Totonoe({ address, token: TOKEN }), errors.InsecureConnection);
  }
});

test("a certificate without its key is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "totonoe-ts-"));
  try {
    const cert = join(folder, "cert.pem");
    writeFileSync(cert, "-----BEGIN CERTIFICATE-----\n");
    assert.throws(() => new Totonoe({ address: "https://h:1", cert }), /cert and key: give both, or neither/);
    writeFileSync(cert, "no PEM");
    assert.throws(() => new Totonoe({ address: "https://h:1", ca: cert }), /no file in PEM/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("without a daemon a call is tried until its time is over, and says where it looked", async () => {
  const client = new Totonoe({ address: "127.0.0.1:9" });
  const error: unknown = await client.stats({ timeoutMs: 400 }).catch((failure: unknown) => failure);
  assert.ok(error instanceof errors.Unreachable);
  assert.ok(error.triedCount > 1);
  assert.match(error.message, /no daemon answers at 127\.0\.0\.1:9/);
  const once = new Totonoe(NOWHERE);
  const first: unknown = await once.stats().catch((failure: unknown) => failure);
  assert.ok(first instanceof errors.Unreachable);
  assert.equal(first.triedCount, 1);
});

test("a server that never answers is given up after timeoutMs", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  const client = new Totonoe({ address: `127.0.0.1:${port}` });
  try {
    await assert.rejects(client.stats({ timeoutMs: 300 }), errors.DeadlineExceeded);
  } finally {
    client.close();
    silent.close();
  }
});

test("without an address the socket of this user's daemon comes first", { skip: process.platform === "darwin" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "totonoe-ts-"));
  mkdirSync(join(folder, "totonoe"));
  const sockets: Socket[] = [];
  const begun: string[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.once("data", (data) => begun.push(data.toString("latin1", 0, 14)));
    socket.on("error", () => undefined);
  });
  process.env["XDG_STATE_HOME"] = folder;
  const client = new Totonoe();
  try {
    server.listen(join(folder, "totonoe", "totonoe.sock"));
    await once(server, "listening");
    assert.equal(client.address, "");
    await assert.rejects(client.stats({ timeoutMs: 500 }), errors.DeadlineExceeded);
    assert.equal(client.address, `unix:${join(folder, "totonoe", "totonoe.sock")}`);
    assert.deepEqual(begun, ["PRI * HTTP/2.0"]);
    process.env["TOTONOE_ADDRESS"] = "127.0.0.1:9, unix:/elsewhere";
    assert.equal(new Totonoe().address, "127.0.0.1:9");
  } finally {
    delete process.env["XDG_STATE_HOME"];
    delete process.env["TOTONOE_ADDRESS"];
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  }
});
