/** How a call is made: its request, its tries, its answer. */

import type { DescMessage, DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import { randomBytes } from "node:crypto";
import type { Connection } from "./connection.js";
import { ClientClosed, type TotonoeError } from "./errors.js";
import { fromCall } from "./failures.js";
import { read, write, type Plain } from "./mapping.js";
import { collectionOf, isBehind, type SeenRevisions } from "./places.js";
import { Attempts, checkedTimeoutMs, pause, type CheckedPolicy } from "./retry.js";

/** What clients of one connection share. */
export interface Shared {
  connection: Connection;
  /** What answers of several daemons showed; `undefined`: there is one daemon. */
  seen: SeenRevisions | undefined;
  policy: CheckedPolicy;
  timeoutMs: number;
}

/** What a request is made of: fields of the message, and what is about the call. */
export interface Given {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  collection?: string | undefined;
  operationId?: string | undefined;
}

/** A request that is ready to be sent, as often as it takes. */
export interface Prepared {
  request: Message;
  signal: AbortSignal | undefined;
  timeoutMs: number;
}

/** Makes the calls of one agent. */
export class Caller {
  readonly shared: Shared;
  readonly agentId: string;
  readonly collection: string;

  constructor(shared: Shared, agentId: string, collection: string) {
    this.shared = shared;
    this.agentId = agentId;
    this.collection = collection;
  }

  /**
   * The request of a call, completed by agent, collection and operation id. The id is made here,
   * once, so that every try has the same.
   *
   * @throws TypeError, RangeError that name the option; nothing was sent.
   */
  prepare(desc: DescMessage, given: object): Prepared {
    const { signal, timeoutMs, collection, operationId, ...fields } = given as Given;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new TypeError(`signal: got ${typeof signal === "object" ? "an object" : `a ${typeof signal}`}, allowed: an AbortSignal`);
    }
    const request = write(desc, {
      ...fields,
      agentId: "agentId" in desc.field ? this.agentId : undefined,
      collection: collection ?? ("collection" in desc.field ? this.collection : undefined),
      operationId: operationId || ("operationId" in desc.field ? newOperationId() : undefined),
    });
    return { request, signal, timeoutMs: checkedTimeoutMs(timeoutMs ?? this.shared.timeoutMs) };
  }

  /** Makes a call, again while the daemon is unavailable and time is left. */
  async run<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    given: object,
  ): Promise<Plain<MessageShape<O>>> {
    return this.send(method, this.prepare(method.input, given));
  }

  /** Makes a call that is prepared. */
  async send<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    { request, signal, timeoutMs }: Prepared,
  ): Promise<Plain<MessageShape<O>>> {
    const { connection, policy, seen } = this.shared;
    const attempts = new Attempts(policy, timeoutMs);
    const about = collectionOf(method.input, request);
    let behindCount = 0;
    seen?.carry(method.input, request);
    for (;;) {
      signal?.throwIfAborted();
      const place = connection.places.pick(about);
      let failure: TotonoeError;
      try {
        const transport = await connection.at(place);
        const answer = await transport.unary(
          method,
          signal,
          attempts.remainingMs(),
          undefined,
          request as never,
        );
        seen?.note(method.input, request, answer.message);
        connection.places.answered(place, about);
        return read(method.output, answer.message);
      } catch (error) {
        failure = this.failure(error, signal);
      }
      const waitMs = attempts.waitMs(failure);
      if (isBehind(failure)) behindCount += 1;
      const behind = seen?.givesUp(method.input, request, behindCount) ?? false;
      if (waitMs === undefined || behind) throw failure;
      await pause(connection.places.after(place, failure, waitMs), signal);
    }
  }

  /** The failure of a call. Throws instead what the caller did to it: aborted, or closed. */
  failure(error: unknown, signal: AbortSignal | undefined): TotonoeError {
    signal?.throwIfAborted();
    if (this.shared.connection.closed) throw new ClientClosed();
    return fromCall(error, this.shared.connection.address);
  }
}

/** `op_` and 24 random hex digits. */
function newOperationId(): string {
  return `op_${randomBytes(12).toString("hex")}`;
}
