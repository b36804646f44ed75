/**
 * A stream that is opened again where it broke.
 *
 * A `Course` decides what the stream asks, which events the caller gets, and whether it goes on.
 */

import type { DescMethodServerStreaming, DescMessage, Message } from "@bufbuild/protobuf";
import type { Caller } from "./caller.js";
import { Unavailable, type TotonoeError } from "./errors.js";
import { read } from "./mapping.js";
import { pause } from "./retry.js";

type Method = DescMethodServerStreaming<DescMessage, DescMessage>;

/** The request that opens a stream next, and the handling of its messages and failures. */
export interface Course<E> {
  readonly method: Method;
  /** The message that opens the stream next; `took` and `waitMs` may change it. */
  readonly request: Message;
  /** Takes a message that came, and gives its event; `undefined`: the caller gets none. */
  took(message: Message): E | undefined;
  /** Milliseconds until it is opened again after a failure; `undefined`: it is not. */
  waitMs(failure: TotonoeError): number | undefined;
  /** Whether the stream is to be opened anew now, without a failure. */
  renewed(): boolean;
  /** Whether a stream that ends now without a failure is complete. */
  complete(): boolean;
  /** Milliseconds that the next opening may take to its end; `undefined`: as long as it takes. */
  timeoutMs(): number | undefined;
}

/** Events of a stream. Leaving the loop ends it; nothing is sent before the first event is asked for. */
export async function* reopened<E>(
  caller: Caller,
  course: Course<E>,
  signal: AbortSignal | undefined,
): AsyncGenerator<E, void, undefined> {
  const { places } = caller.shared.connection;
  // What a daemon told, another one may learn a moment later: the stream leaves it for a failure only.
  let place = places.pick();
  for (;;) {
    signal?.throwIfAborted();
    const messages = opened(caller, course, place, signal);
    let failure: TotonoeError | undefined;
    renewing: try {
      for (;;) {
        const next = await failing(caller, messages.next(), signal);
        if (next.done === true) break;
        const event = course.took(next.value);
        if (event !== undefined) yield event;
        if (course.renewed()) break renewing;
      }
      if (course.complete()) return;
      failure = new Unavailable("the stream ended before it was through", { code: "UNAVAILABLE" });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      failure = error.failure;
    } finally {
      messages.close();
    }
    if (failure === undefined) continue;
    const waitMs = course.waitMs(failure);
    if (waitMs === undefined) throw failure;
    await pause(places.after(place, failure, waitMs), signal);
    place = places.pick();
  }
}

/** Tells the failure of a stream from an error of whoever reads its events. */
class Broken extends Error {
  readonly failure: TotonoeError;
  constructor(failure: TotonoeError) {
    super(failure.message);
    this.failure = failure;
  }
}

async function failing<T>(caller: Caller, promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw new Broken(caller.failure(error, signal));
  }
}

/** The messages of one opening; `close` gives it up. */
function opened(
  caller: Caller,
  course: Course<unknown>,
  place: number,
  signal: AbortSignal | undefined,
): { next(): Promise<IteratorResult<Message>>; close(): void } {
  const abort = new AbortController();
  const given = signal === undefined ? abort.signal : AbortSignal.any([signal, abort.signal]);
  let messages: Promise<AsyncIterator<Message>> | undefined;
  const open = async (): Promise<AsyncIterator<Message>> => {
    const transport = await caller.shared.connection.at(place);
    const request = once(course.request) as AsyncIterable<never>;
    const answer = await transport.stream(course.method, given, course.timeoutMs(), undefined, request);
    return (answer.message as AsyncIterable<Message>)[Symbol.asyncIterator]();
  };
  return {
    next: async () => {
      messages ??= open();
      return (await messages).next();
    },
    close: () => abort.abort(),
  };
}

async function* once<T>(value: T): AsyncGenerator<T, void, undefined> {
  yield value;
}

/** The event of a message: the kind that is set, its fields, and those beside it. */
export function eventOf(desc: DescMessage, oneof: string, message: Message): { type: string } {
  const { case: type = "unknown" } = (message as unknown as Record<string, { case?: string }>)[oneof] ?? {};
  return { type, ...read(desc, message) };
}
