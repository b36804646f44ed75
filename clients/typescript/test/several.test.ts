/** A client of several daemons: which one it asks, and what its reads carry along. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, mock, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  GetResponseSchema,
  ListResponseSchema,
  MemoryService,
  RecallResponseSchema,
  RememberManyResponseSchema,
  RememberResponseSchema,
} from "../gen/totonoe/v1/memory_service_pb.js";
import { WatchResponseSchema } from "../gen/totonoe/v1/operations_pb.js";
import type { TotonoeOptions } from "totonoe";
import { errors, Totonoe } from "./totonoe.ts";

type Script = Partial<ServiceImpl<typeof MemoryService>>;

const RETRY = { backoffInitialMs: 1, backoffMaxMs: 2 };
// Whoever waits before another daemon is asked waits for an hour.
const AT_ONCE = { timeoutMs: Infinity, retry: { backoffInitialMs: 3_600_000, backoffMaxMs: 3_600_000 } };
const BOUNDED = { timeout: 60_000 };
const endings: (() => void)[] = [];

after(() => endings.forEach((end) => end()));
// A client begins with any of its daemons: here with the first.
mock.method(Math, "random", () => 0);

/** A daemon that answers as it is told. */
class Scripted {
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server;

  constructor(script: Script) {
    const routes = (router: ConnectRouter) => router.service(MemoryService, script);
    this.#server = createServer(connectNodeAdapter({ routes }));
    this.#server.on("session", (session) => this.#sessions.add(session));
    endings.push(() => this.stop());
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
  }
}

/** A client of daemons with these scripts, in this order. */
async function clientOf(scripts: readonly Script[], options: TotonoeOptions = {}): Promise<Totonoe> {
  const addresses = await Promise.all(scripts.map((script) => new Scripted(script).start()));
  const client = new Totonoe({ address: addresses.join(", "), agentId: "ann", timeoutMs: 20_000, retry: RETRY, ...options });
  endings.push(() => client.close());
  return client;
}

const unavailable = () => new ConnectError("not now", Code.Unavailable);

/** A failure with a reason, as a daemon packs it. */
function failure(code: Code, reason: string): ConnectError {
  const info = new BinaryWriter().uint32(10).string(reason).uint32(18).string("totonoe.v1").finish();
  const found = new ConnectError("no", code);
  found.details.push({ type: "google.rpc.ErrorInfo", value: info });
  return found;
}

test("a collection stays with the daemon that answered for it, and others are asked in turn", async () => {
  const asked: number[] = [];
  const script = (place: number): Script => ({
    list: () => {
      asked.push(place);
      return create(ListResponseSchema, {});
    },
  });
  const client = await clientOf([script(0), script(1), script(2)]);
  for (const collection of ["a", "b", "a", "c", "b", "d"]) await client.list({ collection });
  assert.deepEqual(asked, [0, 1, 0, 2, 1, 0]);
});

test("a collection whose daemon is down goes to the next one, and stays there", async () => {
  const { DOWN_MS, Places } = await import("../dist/places.js");
  let nowMs = 0;
  const places = new Places(2, () => nowMs, 0);
  places.answered(0, "a");
  assert.deepEqual([places.pick("a"), places.pick("a")], [0, 0]);
  places.after(0, new errors.Unavailable("no", { code: "UNAVAILABLE" }), 500);
  assert.equal(places.pick("a"), 1);
  places.answered(1, "a");
  nowMs = DOWN_MS;
  assert.deepEqual([places.pick("a"), places.pick("a")], [1, 1]);
  for (let number = 0; number < 2_000; number += 1) places.answered(1, `c${number}`);
  assert.deepEqual(new Set([places.pick("a"), places.pick("a")]), new Set([0, 1]), "it is forgotten");
});

test("a write goes on at the next daemon at once, with the same operation id", BOUNDED, async () => {
  const asked: [string, string][] = [];
  const down: Script = {
    remember: ({ operationId }) => {
      asked.push(["down", operationId]);
      throw unavailable();
    },
  };
  const up: Script = {
    remember: ({ operationId }) => {
      asked.push(["up", operationId]);
      return create(RememberResponseSchema, { saved: true, memoryId: "mem_a" });
    },
  };
  const client = await clientOf([down, up], AT_ONCE);
  assert.equal((await client.remember("The mill has two wheels.")).saved, true);
  assert.deepEqual(asked.map(([who]) => who), ["down", "up"]);
  assert.match(asked[0]?.[1] ?? "", /^op_/);
  assert.equal(asked[0]?.[1], asked[1]?.[1]);
});

test("a client goes on with the other daemon where one stops", async () => {
  const script: Script = { list: () => create(ListResponseSchema, { memories: [{ id: "mem_a" }] }) };
  const one = new Scripted(script);
  const addresses = [await one.start(), await new Scripted(script).start()];
  const client = new Totonoe({ address: addresses.join(","), retry: RETRY, timeoutMs: 20_000 });
  endings.push(() => client.close());
  await client.list();
  await client.list();
  one.stop();
  for (let count = 0; count < 4; count += 1) assert.equal((await client.list()).memories[0]?.id, "mem_a");
});

test("one that was down is asked again after a while; where all are down, they are asked all the same", async () => {
  // Inside of the package: the clock is the test's.
  const { DOWN_MS, Places } = await import("../dist/places.js");
  const down = new errors.Unavailable("no", { code: "UNAVAILABLE" });
  let nowMs = 0;
  const places = new Places(2, () => nowMs);
  assert.equal(places.after(0, down, 500), 0, "another one is asked at once");
  assert.deepEqual([places.pick(), places.pick()], [1, 1]);
  assert.equal(places.after(1, down, 500), 500);
  assert.deepEqual(new Set([places.pick(), places.pick()]), new Set([0, 1]));
  nowMs = DOWN_MS;
  assert.deepEqual(new Set([places.pick(), places.pick()]), new Set([0, 1]));
  const absent = new errors.NotFound("no", { code: "NOT_FOUND" });
  assert.equal(places.after(0, absent, 500), 500);
  assert.deepEqual(new Set([places.pick(), places.pick()]), new Set([0, 1]), "it answers");
  assert.equal(new Places(1).after(0, down, 500), 500);
});

test("reads carry the newest revision of their collection", async () => {
  const asked: [string, number][] = [];
  const revisions: Record<string, bigint> = { a: 7n, b: 2n };
  const script: Script = {
    remember: ({ collection }) => create(RememberResponseSchema, { saved: true, revision: revisions[collection] ?? 0n }),
    list: ({ collection, minRevision }) => {
      asked.push([collection, Number(minRevision)]);
      const memories = collection === "c" ? [{ revision: 8n }] : [];
      return create(ListResponseSchema, { revision: 5n, memories });
    },
    recall: ({ collection, minRevision }) => {
      asked.push([collection, Number(minRevision)]);
      return create(RecallResponseSchema, {});
    },
  };
  const client = await clientOf([script, script]);
  await client.remember("The key hangs at hook 3.", { collection: "a" });
  await client.remember("The key hangs at hook 3.", { collection: "b" });
  for (const collection of ["a", "b", "c"]) await client.list({ collection });
  await client.recall("key", { collection: "a" });
  await client.recall("key", { collection: "a", minRevision: 9 });
  await client.asAgent("ben").recall("key", { collection: "b" });
  await client.recall("key", { collection: "c" });
  assert.deepEqual(asked, [
    ...[["a", 7], ["b", 2], ["c", 0]],
    ...[["a", 7], ["a", 9], ["b", 5]],
    ...[["c", 8]], // of a memory newer than its answer
  ]);
});

test("a client of one daemon asks for no revision", async () => {
  const asked: bigint[] = [];
  const client = await clientOf([
    {
      list: ({ minRevision }) => {
        asked.push(minRevision);
        return create(ListResponseSchema, { revision: 5n });
      },
    },
  ]);
  await client.list();
  await client.list();
  assert.deepEqual(asked, [0n, 0n]);
});

test("a read gives up where a second daemon has not what it wants, and the next one begins afresh", async () => {
  const asked: bigint[] = [];
  const script: Script = {
    remember: () => create(RememberResponseSchema, { saved: true, revision: 7n }),
    get: ({ minRevision }) => {
      asked.push(minRevision);
      if (minRevision > 0n) throw failure(Code.Unavailable, "NOT_CAUGHT_UP");
      return create(GetResponseSchema, { memories: [{ id: "mem_a" }] });
    },
  };
  const client = await clientOf([script, script, script]);
  await client.remember("The boat lies at pier 3.");
  await assert.rejects(client.get("mem_a"), (error) => {
    assert.ok(error instanceof errors.Unavailable);
    assert.equal(error.reason, "NOT_CAUGHT_UP");
    return true;
  });
  assert.deepEqual(asked, [7n, 7n]);
  assert.equal((await client.get("mem_a")).id, "mem_a", "it may be another collection of that name");
  assert.equal(asked.at(-1), 0n);
});

test("a stream goes on at the next daemon at once", BOUNDED, async () => {
  const change = create(WatchResponseSchema, { revision: 8n, event: { case: "change", value: {} } });
  const down: Script = {
    // A stream that does nothing but fail.
    watch: () => {
      throw unavailable();
    },
  };
  const up: Script = {
    watch: async function* () {
      yield change;
    },
  };
  const client = await clientOf([down, up], AT_ONCE);
  for await (const event of client.watch({ afterRevision: 7 })) {
    assert.equal(event.revision, 8);
    break;
  }
});

test("a watch stays where it is, and goes on at the other daemon as soon as that one has got its revision", async () => {
  const opened: [string, bigint | undefined][] = [];
  const change = (revision: number) =>
    create(WatchResponseSchema, { revision: BigInt(revision), event: { case: "change", value: {} } });
  let behindCount = 0;
  const client = await clientOf([
    {
      watch: async function* ({ afterRevision }) {
        opened.push(["one", afterRevision]);
        // A stream is opened anew after 128 messages.
        for (let revision = Number(afterRevision) + 1; revision <= 130; revision += 1) yield change(revision);
        throw unavailable();
      },
    },
    {
      watch: async function* ({ afterRevision }) {
        opened.push(["two", afterRevision]);
        behindCount += 1;
        if (behindCount < 3) throw failure(Code.OutOfRange, "REVISION_OUT_OF_RANGE");
        yield change(131);
      },
    },
  ]);
  const told: number[] = [];
  for await (const event of client.watch({ afterRevision: 0 })) {
    told.push(event.revision);
    if (event.revision === 131) break;
  }
  assert.deepEqual(told, Array.from({ length: 131 }, (_, index) => index + 1));
  assert.deepEqual(opened.slice(0, 2), [["one", 0n], ["one", 128n]]);
  assert.deepEqual(new Set(opened.slice(2).map(([, from]) => from)), new Set([130n]));
  assert.equal(behindCount, 3);
});

test("rememberMany goes on at the other daemon at once, with the same operation ids", BOUNDED, async () => {
  const sent: [string, string[]][] = [];
  const saved = create(RememberResponseSchema, { saved: true, memoryId: "mem_a" });
  const script = (who: string, failing: boolean): Script => ({
    rememberMany: async function* (requests) {
      for await (const { items } of requests) {
        sent.push([who, items.map((item) => item.operationId)]);
        if (failing) throw unavailable();
        const results = items.map(() => ({ outcome: { case: "answer" as const, value: saved } }));
        yield create(RememberManyResponseSchema, { results });
      }
    },
  });
  const client = await clientOf([script("one", true), script("two", false)], AT_ONCE);
  const results = [];
  for await (const { remembered } of client.rememberMany(["Ann likes tea.", "Ben likes coffee."])) results.push(remembered);
  assert.deepEqual(results.map((one) => one?.saved), [true, true]);
  assert.deepEqual(sent.map(([who]) => who), ["one", "two"]);
  assert.deepEqual(sent[0]?.[1], sent[1]?.[1]);
});

test("addresses are different, not too many, and each has the form of one", async () => {
  const many = Array.from({ length: 17 }, (_, index) => `a:${index + 1}`).join(",");
  for (const address of ["a:1,a:1", "a:1,", many]) {
    assert.throws(() => new Totonoe({ address }), /1 to 16 different ones/, address);
  }
  assert.throws(() => new Totonoe({ address: "a:1,nowhere" }), /got "nowhere", allowed: host:port/);
  assert.throws(
    () => new Totonoe({ address: "127.0.0.1:1,a:1", token: `ttn_${"a".repeat(43)}` }),
    errors.InsecureConnection,
  );
  const client = new Totonoe({ address: "127.0.0.1:1, 127.0.0.1:2", timeoutMs: 500 });
  assert.equal(client.address, "127.0.0.1:1,127.0.0.1:2");
  await assert.rejects(client.stats(), (error) => {
    assert.ok(error instanceof errors.Unreachable);
    assert.match(error.message, /no daemon answers at .*:1,.*:2; /);
    return true;
  });
  client.close();
});
