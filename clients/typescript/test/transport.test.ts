/** What a client does when calls fail, over a transport that fails as it is told. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { AdminService, StatsResponseSchema } from "../gen/totonoe/v1/admin_service_pb.js";
import { ConsolidateResponseSchema } from "../gen/totonoe/v1/consolidate_pb.js";
import { MemoryService, RememberResponseSchema } from "../gen/totonoe/v1/memory_service_pb.js";
import { errors, Totonoe } from "./totonoe.ts";

const RETRY = { backoffInitialMs: 1, backoffMaxMs: 2 };
const MEMORIES = ["mem_a", "mem_b", "mem_c"];

function client(transport: Transport, timeoutMs = 10_000): Totonoe {
  return new Totonoe({ transport, agentId: "ann", retry: RETRY, timeoutMs });
}

const unavailable = () => new ConnectError("not now", Code.Unavailable);

test("a write that is tried again has the operation id of its first try; another write has another", async () => {
  const ids: string[] = [];
  const transport = createRouterTransport(({ service }) =>
    service(MemoryService, {
      remember: ({ operationId }) => {
        ids.push(operationId);
        if (ids.length < 3) throw unavailable();
        return create(RememberResponseSchema, { saved: true, memoryId: "mem_a" });
      },
    }),
  );
  const own = client(transport);
  assert.equal((await own.remember("Tried three times.")).saved, true);
  await own.remember("Another.");
  assert.equal(ids.length, 4);
  assert.match(ids[0] ?? "", /^op_[0-9a-f]{24}$/);
  assert.equal(new Set(ids.slice(0, 3)).size, 1);
  assert.notEqual(ids[3], ids[0]);
});

test("only an unavailable daemon is asked again", async () => {
  let triedCount = 0;
  const transport = createRouterTransport(({ service }) =>
    service(AdminService, {
      stats: () => {
        triedCount += 1;
        throw new ConnectError("no", Code.PermissionDenied);
      },
    }),
  );
  await assert.rejects(client(transport).stats(), errors.PermissionDenied);
  assert.equal(triedCount, 1);
});

test("a number that JavaScript cannot hold is an error and not another number", async () => {
  const transport = createRouterTransport(({ service }) =>
    service(AdminService, {
      stats: () => create(StatsResponseSchema, { collections: [{ revision: 2n ** 53n }] }),
    }),
  );
  await assert.rejects(client(transport).stats(), (error) => {
    assert.ok(error instanceof errors.Internal);
    assert.match(error.message, /revision: a number over 2\^53/);
    return true;
  });
});

test("a consolidate that breaks goes on by its token, and gives no pair twice", async () => {
  const tokens: string[] = [];
  const ids: string[] = [];
  const candidate = (index: number, resumeToken: string) =>
    create(ConsolidateResponseSchema, {
      resumeToken,
      event: { case: "candidate", value: { memoryAId: MEMORIES[index] ?? "", memoryBId: "mem_z" } },
    });
  const transport = createRouterTransport(({ service }) =>
    service(MemoryService, {
      consolidate: async function* ({ resumeToken, operationId }) {
        tokens.push(resumeToken);
        ids.push(operationId);
        if (tokens.length === 1) {
          yield candidate(0, "one");
          throw unavailable();
        }
        yield candidate(0, "one");
        yield candidate(1, "two");
        yield create(ConsolidateResponseSchema, { resumeToken: "", event: { case: "done", value: {} } });
      },
    }),
  );
  const told: string[] = [];
  for await (const event of client(transport).consolidate()) {
    told.push(event.type === "candidate" ? event.candidate.memoryAId : event.type);
  }
  assert.deepEqual(tokens, ["", "one"]);
  assert.equal(new Set(ids).size, 1);
  assert.deepEqual(told, ["mem_a", "mem_b", "done"]);
});

test("a client that is left by its block is closed, and its transport is not", async () => {
  let calledCount = 0;
  const transport = createRouterTransport(({ service }) =>
    service(AdminService, {
      stats: () => {
        calledCount += 1;
        return create(StatsResponseSchema, { version: "1.0" });
      },
    }),
  );
  const own = client(transport);
  const other = client(transport);
  await own.stats();
  await own[Symbol.asyncDispose]();
  await assert.rejects(own.stats(), errors.ClientClosed);
  assert.equal((await other.stats()).version, "1.0");
  assert.equal(calledCount, 2);
});

test("an abort between two tries ends them with its reason", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const transport = createRouterTransport(({ service }) =>
    service(AdminService, {
      stats: () => {
        abort.abort(reason);
        throw unavailable();
      },
    }),
  );
  await assert.rejects(client(transport).stats({ signal: abort.signal }), reason);
});
