/**
 * `rememberMany`: one stream, opened again when it breaks.
 *
 * Memory is bounded: one message of at most 64 items and about 1 MiB is on its way at a time. The
 * daemon takes up a message when the one before is answered, so that sending ahead gains little. What
 * has no answer is sent again on the new stream, with the same operation ids.
 */

import { create, toBinary, type Message } from "@bufbuild/protobuf";
import {
  MemoryService,
  RememberManyRequestSchema,
  RememberRequestSchema,
  RememberResponseSchema,
  type RememberManyRequest,
  type RememberManyResponse,
  type RememberManyResult,
  type RememberRequest,
} from "../gen/totonoe/v1/memory_service_pb.js";
import type { Caller } from "./caller.js";
import { draftRequest, remembered } from "./drafts.js";
import { build, Internal, TotonoeError } from "./errors.js";
import { fromItem } from "./failures.js";
import { read } from "./mapping.js";
import type * as models from "./models.js";
import type { Places } from "./places.js";
import { Attempts, checkedTimeoutMs, pause } from "./retry.js";

const ITEMS_PER_MESSAGE_MAX = 64;
// Well under the limit of 16 MiB, which a message of one item cannot reach.
const MESSAGE_BYTES_GOAL = 1024 * 1024;

// Connect keeps each answer of a stream until the stream ends (a race against one promise, in its
// run-call.js), so that a stream must not live as long as its input.
const MESSAGES_PER_STREAM_MAX = 8;

interface Sent {
  index: number;
  item: models.Item;
  request: RememberRequest;
}

/** Sends items, and gives their results in order. */
export async function* rememberAll(
  caller: Caller,
  items: Iterable<models.Item> | AsyncIterable<models.Item>,
  options: models.CallOptions,
): AsyncGenerator<models.ItemResult, void, undefined> {
  if (typeof items === "string") throw new TypeError("items: got a string, allowed: several items");
  const { signal, collection } = options;
  const timeoutMs = checkedTimeoutMs(options.timeoutMs ?? caller.shared.timeoutMs);
  const stream = new Exchanges(caller, timeoutMs, signal);
  let open: Sent[] = [];
  let openBytes = 0;
  let index = 0;
  try {
    for await (const item of items) {
      signal?.throwIfAborted();
      const request = itemRequest(caller, item, collection);
      open.push({ index, item, request });
      openBytes += toBinary(RememberRequestSchema, request).length;
      index += 1;
      if (open.length < ITEMS_PER_MESSAGE_MAX && openBytes < MESSAGE_BYTES_GOAL) continue;
      yield* settled(caller, open, await stream.exchange(open), { signal, timeoutMs });
      open = [];
      openBytes = 0;
    }
    if (open.length > 0) yield* settled(caller, open, await stream.exchange(open), { signal, timeoutMs });
  } finally {
    stream.close();
  }
}

function itemRequest(caller: Caller, item: models.Item, collection: string | undefined): RememberRequest {
  if (typeof item !== "string" && (typeof item !== "object" || item === null)) {
    throw new TypeError(`item: got a ${typeof item}, allowed: a string, or an object with content`);
  }
  const { content, ...fields } = typeof item === "string" ? { content: item } : item;
  const given = { collection, ...draftRequest(content, fields) };
  return caller.prepare(RememberRequestSchema, given).request as RememberRequest;
}

/** Results of one message. What the daemon could not take now is called again, one by one. */
async function* settled(
  caller: Caller,
  sent: readonly Sent[],
  results: readonly RememberManyResult[],
  call: { signal: AbortSignal | undefined; timeoutMs: number },
): AsyncGenerator<models.ItemResult, void, undefined> {
  let waited = false;
  for (const [place, { index, item, request }] of sent.entries()) {
    const { outcome } = results[place] as RememberManyResult;
    if (outcome.case === "answer") {
      yield { index, item, remembered: remembered(read(RememberResponseSchema, outcome.value)) };
      continue;
    }
    const failure =
      outcome.case === "error" ? fromItem(outcome.value) : new Internal("an item without an answer", { code: "INTERNAL" });
    const waitMs = new Attempts(caller.shared.policy, call.timeoutMs).waitMs(failure);
    if (waitMs === undefined) {
      yield { index, item, error: failure };
      continue;
    }
    // The delay counts from the answer, which is one for the whole message.
    if (!waited) await pause(waitMs, call.signal);
    waited = true;
    try {
      const answer = await caller.send(MemoryService.method.remember, { request, ...call });
      yield { index, item, remembered: remembered(answer) };
    } catch (error) {
      if (!(error instanceof TotonoeError)) throw error;
      yield { index, item, error };
    }
  }
}

/** Sends a message and waits for its answer, then the next, over one stream while it lasts. */
class Exchanges {
  readonly #caller: Caller;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #places: Places;
  #place: number;
  #stream: Stream | undefined;

  constructor(caller: Caller, timeoutMs: number, signal: AbortSignal | undefined) {
    this.#caller = caller;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#places = caller.shared.connection.places;
    this.#place = this.#places.pick();
  }

  /** One result for each item. Rejects if the stream failed and could not be opened again. */
  async exchange(sent: readonly Sent[]): Promise<readonly RememberManyResult[]> {
    const message = create(RememberManyRequestSchema, { items: sent.map((one) => one.request) });
    const attempts = new Attempts(this.#caller.shared.policy, this.#timeoutMs);
    for (;;) {
      this.#signal?.throwIfAborted();
      this.#stream ??= new Stream(this.#caller, this.#place, this.#signal);
      let failure: TotonoeError;
      try {
        const answer = await this.#stream.exchange(message, attempts.remainingMs());
        if (this.#stream.exchangedCount >= MESSAGES_PER_STREAM_MAX) this.close();
        if (answer.results.length === sent.length) return answer.results;
        failure = new Internal(`the daemon answered ${answer.results.length} items of ${sent.length}`, {
          code: "INTERNAL",
        });
      } catch (error) {
        failure = this.#caller.failure(error, this.#signal);
      }
      this.close();
      const waitMs = attempts.waitMs(failure);
      if (waitMs === undefined) throw failure;
      await pause(this.#places.after(this.#place, failure, waitMs), this.#signal);
      this.#place = this.#places.pick();
    }
  }

  close(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }
}

/** One RememberMany stream. */
class Stream {
  readonly #abort = new AbortController();
  readonly #answers: Promise<AsyncIterator<Message>>;
  /** Messages that were answered. */
  exchangedCount = 0;
  #send!: (message: RememberManyRequest | undefined) => void;
  #next!: Promise<RememberManyRequest | undefined>;

  constructor(caller: Caller, place: number, signal: AbortSignal | undefined) {
    this.#expect();
    const given = signal === undefined ? this.#abort.signal : AbortSignal.any([signal, this.#abort.signal]);
    const method = MemoryService.method.rememberMany;
    this.#answers = caller.shared.connection
      .at(place)
      .then((transport) => transport.stream(method, given, undefined, undefined, this.#outgoing()))
      .then((answer) => answer.message[Symbol.asyncIterator]());
    // It is awaited with the first exchange; until then its failure is nobody's.
    this.#answers.catch(() => undefined);
  }

  /** The answer to a message; no other one may be under way. */
  async exchange(message: RememberManyRequest, timeoutMs: number | undefined): Promise<RememberManyResponse> {
    this.#send(message);
    const late = build(`no answer to a message of the stream within ${timeoutMs} ms`, {
      code: "DEADLINE_EXCEEDED",
      reason: "DEADLINE_PASSED",
    });
    let timer: NodeJS.Timeout | undefined;
    const answer = this.#answers.then((answers) => answers.next());
    answer.catch(() => undefined);
    const deadline = new Promise<never>((_, reject) => {
      if (timeoutMs !== undefined) timer = setTimeout(reject, timeoutMs, late);
    });
    try {
      const next = await Promise.race([answer, deadline]);
      this.exchangedCount += 1;
      if (next.done !== true) return next.value as RememberManyResponse;
      throw build("the daemon ended the stream before all items were answered", { code: "INTERNAL" });
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#abort.abort();
    this.#send(undefined);
  }

  #expect(): void {
    this.#next = new Promise((resolve) => (this.#send = resolve));
  }

  async *#outgoing(): AsyncGenerator<RememberManyRequest, void, undefined> {
    for (;;) {
      const message = await this.#next;
      if (message === undefined) return;
      this.#expect();
      yield message;
    }
  }
}
