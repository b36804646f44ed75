/** Streams against a real daemon: in order, bounded, and going on after it was killed. */

import assert from "node:assert/strict";
import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import type { ConsolidateEvent, Item, TidyEvent, WatchEvent } from "totonoe";
import { errors, Totonoe } from "./totonoe.ts";
import { Daemon } from "./daemon.ts";

const WAIT_MS = 40_000;

describe("streams", () => {
  const daemon = new Daemon();
  let client: Totonoe;

  before(async () => {
    await daemon.start();
    client = daemon.client();
  });

  after(async () => {
    client?.close();
    await daemon[Symbol.asyncDispose]();
  });

  async function fresh(name: string): Promise<Totonoe> {
    await client.createCollection(name);
    return daemon.client({ collection: name });
  }

  test("rememberMany answers in the order of the items, and one that fails does not end it", async () => {
    const own = await fresh("many");
    const items: Item[] = ["Ann likes tea.", { content: "Ben likes coffee.", tags: ["drink"] }, " ", "Ann likes tea."];
    const results = [];
    for await (const result of own.rememberMany(items)) results.push(result);
    assert.deepEqual(results.map((one) => one.index), [0, 1, 2, 3]);
    assert.deepEqual(results.map((one) => one.remembered?.saved), [true, true, undefined, false]);
    assert.ok(results[2]?.error instanceof errors.InvalidArgument);
    assert.equal(results[2]?.error.reason, "EMPTY_TEXT");
    assert.equal(results[2]?.item, " ");
    const memory = await own.get(results[1]?.remembered?.memoryId ?? "");
    assert.deepEqual(memory.tags, ["drink"]);
  });

  test("rememberMany reads a long input as answers come, and no faster", async () => {
    const own = await fresh("long");
    let read = 0;
    let ahead = 0;
    async function* numbers(): AsyncGenerator<Item> {
      for (let index = 0; index < 1_000; index += 1) {
        read += 1;
        // Two texts in turn: most are refused, which costs the daemon least.
        yield `Room ${index % 2 === 0 ? "blue" : "green"} is free.`;
      }
    }
    let count = 0;
    for await (const result of own.rememberMany(numbers())) {
      assert.equal(result.index, count);
      count += 1;
      ahead = Math.max(ahead, read - count);
    }
    assert.equal(count, 1_000);
    assert.ok(ahead <= 64, `${ahead} items were read ahead`);
  });

  test("a long stream is opened anew now and then, and nothing is lost or comes twice", async () => {
    await fresh("renewed");
    const session = createGrpcTransport({
      baseUrl: "http://localhost",
      nodeOptions: { createConnection: () => connect(daemon.address.slice("unix:".length)) },
    });
    const opened: string[] = [];
    const transport: Transport = {
      unary: (...call) => session.unary(...call),
      stream: (...call) => {
        opened.push(call[0].name);
        return session.stream(...call);
      },
    };
    const own = new Totonoe({ transport, agentId: "ann", collection: "renewed" });
    // Each tenth is new: so many, that the watch below is longer than one stream.
    const texts = Array.from({ length: 1_400 }, (_, index) => `Locker ${Math.floor(index / 10)} is empty.`);
    let savedCount = 0;
    for await (const result of own.rememberMany(texts)) savedCount += result.remembered?.saved === true ? 1 : 0;
    assert.equal(savedCount, 140);
    assert.deepEqual(opened, ["RememberMany", "RememberMany", "RememberMany"]);
    const revisions: number[] = [];
    for await (const event of own.watch({ afterRevision: 0 })) {
      if (event.type === "change") revisions.push(event.revision);
      if (event.type === "heartbeat") break;
    }
    assert.deepEqual(revisions, Array.from({ length: 140 }, (_, index) => index + 1));
    assert.deepEqual(opened.slice(3), ["Watch", "Watch"]);
  });

  test("an item that cannot be sent rejects and names its field", async () => {
    const own = await fresh("unsent");
    await assert.rejects(async () => {
      for await (const _ of own.rememberMany([7 as never])) assert.fail();
    }, /item: got a number/);
    await assert.rejects(async () => {
      for await (const _ of own.rememberMany([{ content: "x", colour: 1 } as never])) assert.fail();
    }, /colour: no such option/);
    await assert.rejects(own.rememberMany("one text").next(), /items: got a string/);
  });

  test("leaving the loop early ends a stream, and the client goes on", async () => {
    const own = await fresh("early");
    for await (const result of own.rememberMany(["One thing.", "Another matter."])) {
      assert.equal(result.index, 0);
      break;
    }
    for await (const event of own.watch({ afterRevision: 0 })) {
      assert.equal(event.type, "change");
      break;
    }
    assert.equal((await own.list()).memories.length, 2);
  });

  test("watch tells changes that meet the filter, from a revision on", async () => {
    const own = await fresh("watched");
    const { revision } = await own.remember("Not asked for.", { tags: ["x"] });
    const { memoryId } = await own.remember("The lift is broken.", { tags: ["house"] });
    await own.forget(memoryId);
    const events: WatchEvent[] = [];
    for await (const event of own.watch({ afterRevision: revision, filter: { tags: ["house"] } })) {
      if (event.type === "change") events.push(event);
      if (events.length === 2) break;
    }
    const told = events.map((event) => event.type === "change" && event.change.memories[0]?.type);
    assert.deepEqual(told, ["created", "forgotten"]);
    await assert.rejects(own.watch({ afterRevision: 10_000 }).next(), errors.OutOfRange);
  });

  test("an aborted watch rejects with the signal's reason", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    const watch = client.watch({ signal: abort.signal, heartbeatS: 1 });
    assert.equal((await watch.next()).value?.type, "heartbeat");
    const next = watch.next();
    abort.abort(reason);
    await assert.rejects(next, reason);
  });

  test("an error of the loop's own body reaches the caller as it is", async () => {
    const mine = new Error("mine");
    await assert.rejects(async () => {
      for await (const _ of client.watch({ heartbeatS: 1 })) throw mine;
    }, mine);
  });

  test("consolidate ends with done and names the pairs that it found", async () => {
    const own = await fresh("pairs");
    await own.remember("The heating is set to 21 degrees.");
    await own.remember("The heating is set to 21 degrees now.", { force: true });
    const events: ConsolidateEvent[] = [];
    for await (const event of own.consolidate({ distanceBelow: 0.5 })) events.push(event);
    const last = events.at(-1);
    assert.ok(last?.type === "done");
    assert.equal(last.done.memoryCount, 2);
    assert.equal(events.filter((event) => event.type === "candidate").length, last.done.mergeCandidates.length);
  });

  test("tidy shows exact doubles, and closes them with apply", async () => {
    const own = await fresh("tidied");
    const kept = await own.remember("The gate is green.");
    const double = await own.remember("The gate is green.", { force: true });
    const events: TidyEvent[] = [];
    for await (const event of own.tidy({ apply: true })) events.push(event);
    const done = events.at(-1);
    assert.ok(done?.type === "done");
    assert.equal(done.done.closed, true);
    const states = await own.getMany([kept.memoryId, double.memoryId]);
    assert.equal(states.memories.filter((memory) => memory.status === "active").length, 1);
    await own.undo(done.done.operationId);
    assert.equal((await own.get(double.memoryId)).status, "active");
  });

  test("episodes are made, read, listed and deleted", async () => {
    const own = await fresh("episodes");
    const { memoryId } = await own.remember("We moved house in May.");
    const startTime = new Date("2026-05-01T00:00:00Z");
    const made = await own.createEpisode("The move", [memoryId], { startTime, importance: 5 });
    const id = made.episode?.id ?? "";
    const found = await own.getEpisode(id, { includeMemories: true });
    assert.equal(found.episode?.summary, "The move");
    assert.deepEqual(found.episode?.startTime, startTime);
    assert.equal(found.memories[0]?.id, memoryId);
    assert.equal((await own.listEpisodes({ memoryId })).episodes.length, 1);
    await own.deleteEpisode(id);
    await assert.rejects(own.getEpisode(id), { reason: "EPISODE_NOT_FOUND" });
  });

  test("endSession makes one memory of what a session said several times", async () => {
    const own = await fresh("session");
    const texts = ["the red door is open today", "the red door is open", "the red door is open today again"];
    for (const text of texts) await own.remember(text, { sessionId: "s1", force: true });
    const shown = await own.endSession("s1", { dryRun: true, threshold: 0.5 });
    assert.equal(shown.dryRun, true);
    assert.equal(shown.mergedGroups, 1);
    const ended = await own.endSession("s1", { threshold: 0.5 });
    assert.equal(ended.supersededCount, shown.supersededCount);
    assert.equal((await own.list({ filter: { statuses: ["active"] } })).memories.length, 3 - ended.supersededCount);
  });

  test("a daemon that is killed and started again: watch goes on, writes wait, nothing comes twice", async () => {
    const own = await fresh("killed");
    const signal = AbortSignal.timeout(WAIT_MS);
    await own.remember("Before the crash.");
    const told: string[] = [];
    const watching = (async () => {
      for await (const event of own.watch({ afterRevision: 0, heartbeatS: 1, signal })) {
        if (event.type !== "change") continue;
        told.push(...event.change.memories.map((change) => change.memory?.content ?? ""));
        if (told.length === 3) return;
      }
    })();
    watching.catch(() => undefined);
    const before = await own.remember("Shortly before the crash.", { signal });
    assert.equal(before.saved, true);
    await daemon.kill();
    const during = own.remember("While nobody listens.", { timeoutMs: WAIT_MS, signal });
    await daemon.start();
    assert.equal((await during).saved, true);
    await watching;
    assert.deepEqual(told, ["Before the crash.", "Shortly before the crash.", "While nobody listens."]);
  });

  test("rememberMany goes on after a restart, and saves nothing twice", async () => {
    const own = await fresh("resumed");
    const signal = AbortSignal.timeout(WAIT_MS);
    const itemCount = 70;
    async function* items(): AsyncGenerator<Item> {
      for (let index = 0; index < itemCount; index += 1) {
        // The first message, of 64 items, is answered by now, and its stream is open.
        if (index === 66) {
          await daemon.kill();
          await daemon.start();
        }
        yield `Locker ${index} holds ${index * 7} keys.`;
      }
    }
    let savedCount = 0;
    for await (const result of own.rememberMany(items(), { timeoutMs: WAIT_MS, signal })) {
      assert.equal(result.remembered?.saved, true, `item ${result.index}: ${String(result.error)}`);
      savedCount += 1;
    }
    assert.equal(savedCount, itemCount);
    assert.equal((await own.list()).memories.length, itemCount);
  });
});
