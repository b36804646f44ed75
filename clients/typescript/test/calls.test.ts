/** Every call about memories, against a real daemon. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errors, Totonoe } from "./totonoe.ts";
import { Daemon } from "./daemon.ts";
import type { RememberOptions } from "totonoe";

describe("calls", () => {
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

  /** A collection of its own for a test. */
  async function fresh(name: string): Promise<Totonoe> {
    await client.createCollection(name);
    return daemon.client({ collection: name });
  }

  test("remember saves once, and a restatement gives the memory that says it", async () => {
    const own = await fresh("remember");
    const saved = await own.remember("The staging database listens on port 5433.", { tags: ["db"], importance: 4 });
    assert.equal(saved.saved, true);
    const again = await own.remember("The staging database listens on port 5433.");
    assert.ok(!again.saved);
    assert.equal(again.duplicateOf, saved.memoryId);
    assert.equal(again.duplicate?.method, "exact");
    assert.equal(again.evidence[0]?.finding, "same_text");
    const forced = await own.remember("The staging database listens on port 5433.", { force: true });
    assert.equal(forced.saved, true);
  });

  test("every field of a memory comes back as it was given", async () => {
    const own = await fresh("fields");
    const createdTime = new Date("2026-03-01T12:00:00.250Z");
    const fields = {
      externalId: "note-1",
      kind: "state",
      stateKind: "task",
      category: "decision",
      tags: ["a", "b"],
      attributes: { deep: { list: [1, "two", null, true] } },
      payload: { unit: "km" },
      importance: 5,
      confidence: 0.75,
      salience: 0.25,
      sessionId: "s1",
      threadId: "t1",
      entities: ["Ann"],
      aboutTime: { fromTime: new Date("2026-01-01T00:00:00Z") },
      createdTime,
      private: true,
      key: { subject: "user", attribute: "drink" },
      namespace: ["team", "ann"],
    } satisfies RememberOptions;
    const { memoryId } = await own.remember("Ann prefers tea.", fields);
    const found = await own.get(memoryId);
    const { aboutTime, key, ...flat } = fields;
    for (const [name, value] of Object.entries(flat)) {
      assert.deepEqual(found[name as keyof typeof found], value, name);
    }
    assert.deepEqual(found.key, key);
    assert.deepEqual(found.aboutTime?.fromTime, aboutTime.fromTime);
    assert.equal(found.agentId, "ann");
    assert.match(found.contentHash, /^[0-9a-f]+$/);
    assert.equal((await own.get("ext:note-1")).id, memoryId);
    await assert.rejects(daemon.client({ agentId: "ben", collection: "fields" }).get(memoryId), errors.NotFound);
  });

  test("vectors go and come as Float32Array", async () => {
    await client.createCollection("vectors", { clientVectorDimension: 3 });
    const own = daemon.client({ collection: "vectors" });
    const { memoryId } = await own.remember("North.", { vector: Float32Array.of(1, 0, 0) });
    await own.remember("East.", { vector: [0, 1, 0] });
    const found = await own.get(memoryId, { includeVectors: true });
    assert.deepEqual(found.vector, Float32Array.of(1, 0, 0));
    const { hits } = await own.recall("", { vector: [0.1, 0.9, 0], k: 1 });
    assert.equal(hits[0]?.memory?.content, "East.");
    await assert.rejects(own.remember("Up.", { vector: [1, 0] }), { reason: "DIMENSION_MISMATCH" });
  });

  test("check tells what remember would do and saves nothing", async () => {
    const own = await fresh("check");
    assert.equal((await own.check("Lunch is at noon.")).wouldSave, true);
    assert.equal((await own.check("Lunch is at noon.")).wouldSave, true);
    await own.remember("Lunch is at noon.");
    assert.equal((await own.check("Lunch is at noon.")).wouldSave, false);
  });

  test("recall finds by words, filters, and looks into the past", async () => {
    const own = await fresh("recall");
    const first = await own.remember("The build server is named hercules.", { tags: ["infra"] });
    await own.remember("The garden needs water on Sundays.", { tags: ["home"] });
    const { hits, arms } = await own.recall("build server name", { k: 5, filter: { tags: ["infra"] } });
    assert.deepEqual(hits.map((hit) => hit.memory?.id), [first.memoryId]);
    assert.deepEqual(arms.sort(), ["lexical", "vector"]);
    const past = await own.recall("garden water", { asOf: first.revision, mode: "lexical" });
    assert.deepEqual(past.hits, []);
    assert.equal(past.asOfRevision, first.revision);
  });

  test("get gives one, getMany several with what is missing", async () => {
    const own = await fresh("get");
    const { memoryId } = await own.remember("One.");
    const { memories, missingIds } = await own.getMany([memoryId, "mem_0000000000000000"]);
    assert.deepEqual(memories.map((memory) => memory.content), ["One."]);
    assert.deepEqual(missingIds, ["mem_0000000000000000"]);
    await assert.rejects(own.get("mem_0000000000000000"), errors.NotFound);
  });

  test("list gives pages, listAll all of them", async () => {
    const own = await fresh("list");
    const texts = ["Alpha rises.", "Bread is baked.", "Cats sleep."];
    for (const text of texts) await own.remember(text);
    const page = await own.list({ pageSize: 2 });
    assert.deepEqual(page.memories.map((memory) => memory.content), texts.slice(0, 2));
    const all: string[] = [];
    for await (const memory of own.listAll({ pageSize: 1 })) all.push(memory.content);
    assert.deepEqual(all, texts);
  });

  test("update changes what is named, null takes a field back, a stale revision is refused", async () => {
    const own = await fresh("update");
    const { memoryId, revision } = await own.remember("The meeting is on Monday.", { tags: ["x"], importance: 5 });
    const changed = await own.update(memoryId, { tags: ["y"], importance: null }, { expectedRevision: revision });
    assert.ok(changed.updated);
    assert.deepEqual(changed.memory.tags, ["y"]);
    assert.equal(changed.memory.importance, 3);
    assert.equal(changed.memory.content, "The meeting is on Monday.");
    await assert.rejects(own.update(memoryId, { tags: [] }, { expectedRevision: revision }), errors.StaleRevision);
    const other = await own.remember("Rain is expected in Oslo.");
    const twice = await own.update(other.memoryId, { content: "The meeting is on Monday." });
    assert.ok(!twice.updated);
    assert.equal(twice.duplicate.memoryId, memoryId);
  });

  test("forget hides, undo restores, history and operations tell both", async () => {
    const own = await fresh("forget");
    const { memoryId } = await own.remember("The key is under the mat.");
    const shown = await own.forget(memoryId, { dryRun: true });
    assert.equal(shown.dryRun, true);
    const gone = await own.forget([memoryId], { reason: "not safe" });
    assert.equal(gone.forgotten[0]?.id, memoryId);
    assert.equal((await own.get(memoryId)).status, "forgotten");
    const undone = await own.undo(gone.revision);
    assert.equal(undone.undone, true);
    assert.equal((await own.get(memoryId)).status, "active");
    await assert.rejects(own.undo(gone.operationId), errors.UndoRefused);
    const { versions } = await own.history(memoryId);
    assert.deepEqual(versions.map((version) => version.operation?.kind), ["Undo", "Forget", "Remember"]);
    const { operations } = await own.operations({ kinds: ["Forget"] });
    assert.equal(operations[0]?.reason, "not safe");
    assert.ok(operations[0]?.time instanceof Date);
    const conditions = await own.forget([], { dryRun: true, filter: { agentIds: ["ann"] } });
    assert.equal(conditions.matchingCount, 1);
  });

  test("links are seen from both ends, and neighbors follow them", async () => {
    const own = await fresh("links");
    const a = await own.remember("The deploy failed.");
    const b = await own.remember("A disk was full in the cellar.");
    const linked = await own.link(b.memoryId, a.memoryId, { type: "causes", confidence: 0.9 });
    assert.equal(linked.link?.type, "causes");
    assert.equal(linked.inverse?.type, "caused_by");
    const { neighbors } = await own.neighbors(a.memoryId);
    assert.equal(neighbors[0]?.memory?.id, b.memoryId);
    assert.equal((await own.unlink(a.memoryId, b.memoryId)).removed.length, 1);
  });

  test("merge makes one memory of two", async () => {
    const own = await fresh("merge");
    const a = await own.remember("The office dog is called Rex.");
    const b = await own.remember("Printers live on the third floor.");
    const merged = await own.merge(a.memoryId, b.memoryId, {
      content: "The office dog is called Rex; printers live on the third floor.",
    });
    assert.ok(merged.merged);
    assert.equal(merged.memory.id, a.memoryId);
    assert.equal((await own.get(b.memoryId)).supersededBy, a.memoryId);
    assert.equal((await own.get(b.memoryId, { followSuperseded: true })).id, a.memoryId);
  });

  test("review confirms what waits, and undo lets it wait again", async () => {
    const own = await fresh("review");
    const guard = { reviewFrom: "external" } as const;
    await own.updateCollection("review", { guard });
    const saved = await own.remember("The museum opens at nine.", { source: "external" });
    assert.equal(saved.pending, true);
    const open = await own.questions();
    assert.deepEqual([open.pending.map((one) => one.id), open.pendingCount], [[saved.memoryId], 1]);
    const done = await own.review(saved.memoryId, "confirm", { reason: "checked" });
    assert.equal(done.reviewed, true);
    assert.equal(done.memory?.status, "active");
    await own.undo(done.operationId);
    assert.equal((await own.get(saved.memoryId)).status, "pending");
    assert.equal((await own.review(saved.memoryId, "reject")).memory?.status, "forgotten");
  });

  test("resolve answers a pair, dismiss and undismiss keep it apart", async () => {
    const own = await fresh("resolve");
    const a = await own.remember("Lisa leads the data team.");
    const b = await own.remember("Mark leads the web team.");
    assert.equal((await own.dismiss(a.memoryId, b.memoryId)).changed, true);
    assert.equal((await own.undismiss(a.memoryId, b.memoryId)).changed, true);
    const resolved = await own.resolve(b.memoryId, a.memoryId, "replaces", { reason: "moved" });
    assert.equal(resolved.resolved, true);
    assert.equal((await own.get(a.memoryId)).status, "superseded");
    assert.deepEqual((await own.questions({ pageSize: 5 })).questions, []);
  });

  test("an operation id gives the first answer again, and refuses another payload", async () => {
    const own = await fresh("operations");
    const first = await own.remember("Said once.", { operationId: "mine" });
    const again = await own.remember("Said once.", { operationId: "mine" });
    assert.equal(again.replayed, true);
    assert.equal(again.memoryId, first.memoryId);
    assert.equal(again.saved, true);
    await assert.rejects(own.remember("Another.", { operationId: "mine" }), errors.OperationIdReused);
  });

  test("collections are made, read, listed, changed, deleted and brought back", async () => {
    await client.createCollection("kept", { description: "first", guard: { preset: "ego" } });
    await assert.rejects(client.createCollection("kept"), errors.AlreadyExists);
    assert.equal((await client.getCollection("kept")).guard?.preset, "ego");
    const changed = await client.updateCollection("kept", {
      description: "second",
      guard: { jaccardAbove: 0.9, cosineDistanceBelow: null },
    });
    assert.equal(changed.collection?.description, "second");
    assert.equal(changed.collection?.guard?.jaccardAbove, 0.9);
    assert.equal(changed.collection?.guard?.cosineDistanceBelow, undefined);
    const names = (await client.listCollections()).collections.map((one) => one.name);
    assert.ok(names.includes("kept"));
    const gone = await client.deleteCollection("kept");
    await assert.rejects(client.getCollection("kept"), { reason: "COLLECTION_NOT_FOUND" });
    await client.undo(gone.operationId, { collection: "kept" });
    assert.equal((await client.getCollection("kept")).description, "second");
  });

  test("stats name the version and count what was saved", async () => {
    const own = await fresh("stats");
    await own.remember("Counted.");
    const stats = await own.stats({ collection: "stats" });
    assert.match(stats.version, /^\d+\.\d+/);
    assert.equal(stats.collections[0]?.savedCount, 1);
  });

  test("raw reaches what has no call here", async () => {
    const { namespaces } = await client.raw.memory.listNamespaces({ agentId: "ann", collection: "fields" });
    assert.deepEqual(namespaces[0]?.names, ["team", "ann"]);
  });

  test("what the daemon refuses names field and what is allowed", async () => {
    const refused = [
      [() => client.remember(" "), "memory.content", "EMPTY_TEXT"],
      [() => client.remember("x".repeat(40_000)), "memory.content", "LIMIT_EXCEEDED"],
      [() => client.remember("Out of range.", { confidence: 7 }), "memory.confidence", "OUT_OF_RANGE"],
      [() => client.recall("x", { k: 100_000 }), "k", "OUT_OF_RANGE"],
    ] as const;
    for (const [call, field, reason] of refused) {
      const error: unknown = await (call() as Promise<unknown>).catch((failure: unknown) => failure);
      assert.ok(error instanceof errors.InvalidArgument, `${field}: ${String(error)}`);
      assert.deepEqual([error.field, error.reason], [field, reason]);
      assert.notEqual(error.allowed, "");
    }
  });

  test("an aborted call rejects with the signal's reason", async () => {
    const reason = new Error("enough");
    await assert.rejects(client.stats({ signal: AbortSignal.abort(reason) }), reason);
    const abort = new AbortController();
    const call = client.recall("anything", { signal: abort.signal });
    abort.abort(reason);
    await assert.rejects(call, reason);
  });

  test("16 calls that say the same at once save it once", async () => {
    const own = await fresh("race");
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => own.asAgent(`agent-${index}`).remember("The gate code is 4711.")),
    );
    assert.equal(answers.filter((answer) => answer.saved).length, 1);
    assert.equal(new Set(answers.map((answer) => answer.memoryId)).size, 1);
  });

  test("a closed client says so", async () => {
    const own = daemon.client();
    await own.stats();
    own.close();
    own.close();
    await assert.rejects(own.stats(), errors.ClientClosed);
  });
});
