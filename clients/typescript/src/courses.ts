/** How the streams of `watch`, `consolidate` and `tidy` go on where they broke. */

import type { Message } from "@bufbuild/protobuf";
import type { ConsolidateRequest } from "../gen/totonoe/v1/consolidate_pb.js";
import { ConsolidateResponseSchema } from "../gen/totonoe/v1/consolidate_pb.js";
import { MemoryService } from "../gen/totonoe/v1/memory_service_pb.js";
import type { WatchRequest, WatchResponse } from "../gen/totonoe/v1/operations_pb.js";
import { WatchResponseSchema } from "../gen/totonoe/v1/operations_pb.js";
import { TidyResponseSchema } from "../gen/totonoe/v1/tidy_pb.js";
import { InvalidArgument, Unavailable, type TotonoeError } from "./errors.js";
import type * as models from "./models.js";
import { Attempts, Patience, type CheckedPolicy } from "./retry.js";
import { eventOf, type Course } from "./streams.js";

// Connect keeps each message of a stream until the stream ends, as `./bulk.js` says.
const MESSAGES_PER_STREAM_MAX = 128;
/** How long a watch waits until one of several daemons has got the revision that it goes on from. */
const BEHIND_MS_MAX = 5_000;

/**
 * A watch: its `afterRevision` follows what was given. Until the first message it is tried for
 * `timeoutMs`; after it for as long as it is wanted, unless the policy allows one try only. Of `several`
 * daemons one may get a revision a second after another one told it.
 */
export class Watching implements Course<models.WatchEvent> {
  readonly method = MemoryService.method.watch;
  readonly request: WatchRequest;
  readonly #policy: CheckedPolicy;
  readonly #behind: Patience | undefined;
  #patience: Patience;
  #messageCount = 0;
  #whole = false;

  constructor(request: Message, policy: CheckedPolicy, timeoutMs: number, several: boolean) {
    this.request = request as WatchRequest;
    this.#policy = policy;
    this.#behind = several ? new Patience(policy, BEHIND_MS_MAX) : undefined;
    this.#patience = new Patience(policy, timeoutMs);
  }

  took(message: Message): models.WatchEvent {
    const { revision, event } = message as WatchResponse;
    this.#behind?.answered();
    // A large change comes in several messages, of which only the last counts it.
    this.#whole = event.case === "heartbeat" || revision !== this.request.afterRevision;
    this.#messageCount += 1;
    this.request.afterRevision = revision;
    const attemptsMax = this.#policy.attemptsMax === 1 ? 1 : Number.POSITIVE_INFINITY;
    this.#patience = new Patience({ ...this.#policy, attemptsMax }, Number.POSITIVE_INFINITY);
    return eventOf(WatchResponseSchema, "event", message) as models.WatchEvent;
  }

  waitMs(failure: TotonoeError): number | undefined {
    // What it did not take in time is told again.
    const slow = failure.reason === "WATCH_TOO_SLOW";
    const behind = failure.reason === "REVISION_OUT_OF_RANGE" ? this.#behind : undefined;
    const again = slow || behind ? new Unavailable(failure.message, { code: failure.code }) : failure;
    return (behind ?? this.#patience).waitMs(again);
  }

  renewed(): boolean {
    const due = this.#whole && this.#messageCount >= MESSAGES_PER_STREAM_MAX;
    if (due) this.#messageCount = 0;
    return due;
  }

  complete(): boolean {
    return false;
  }

  timeoutMs(): undefined {
    return undefined;
  }
}

/**
 * A run of Consolidate. A daemon that was restarted knows no resume token: then the run begins again,
 * and the caller gets no pair twice. The first phase has the operation id of the first run.
 */
export class Consolidating implements Course<models.ConsolidateEvent> {
  readonly method = MemoryService.method.consolidate;
  readonly request: ConsolidateRequest;
  readonly #patience: Patience;
  readonly #told = new Set<string>();
  #ownToken = "";
  #done = false;

  constructor(request: Message, policy: CheckedPolicy, timeoutMs: number) {
    this.request = request as ConsolidateRequest;
    this.#patience = new Patience(policy, timeoutMs);
  }

  took(message: Message): models.ConsolidateEvent | undefined {
    const event = eventOf(ConsolidateResponseSchema, "event", message) as models.ConsolidateEvent;
    this.#patience.answered();
    this.request.resumeToken = this.#ownToken = event.resumeToken;
    let key: string | undefined;
    if (event.type === "done") this.#done = true;
    else if (event.type === "candidate") key = `${event.candidate.memoryAId} ${event.candidate.memoryBId}`;
    else if (event.type === "cluster") key = `cluster ${event.cluster.memoryIds.join(" ")}`;
    if (key === undefined) return event;
    if (this.#told.has(key)) return undefined;
    this.#told.add(key);
    return event;
  }

  waitMs(failure: TotonoeError): number | undefined {
    const gone = failure instanceof InvalidArgument && failure.reason === "BAD_PAGE_TOKEN";
    const token = this.request.resumeToken;
    if (gone && token !== "" && token === this.#ownToken) {
      this.request.resumeToken = this.#ownToken = "";
      return 0;
    }
    return this.#patience.waitMs(failure);
  }

  renewed(): boolean {
    return false;
  }

  complete(): boolean {
    return this.#done;
  }

  timeoutMs(): undefined {
    return undefined;
  }
}

/** One run of Tidy: it is tried again until its first message. */
export class Tidying implements Course<models.TidyEvent> {
  readonly method = MemoryService.method.tidy;
  readonly request: Message;
  readonly #attempts: Attempts;
  #begun = false;

  constructor(request: Message, policy: CheckedPolicy, timeoutMs: number) {
    this.request = request;
    this.#attempts = new Attempts(policy, timeoutMs);
  }

  took(message: Message): models.TidyEvent {
    this.#begun = true;
    return eventOf(TidyResponseSchema, "message", message) as models.TidyEvent;
  }

  waitMs(failure: TotonoeError): number | undefined {
    return this.#begun ? undefined : this.#attempts.waitMs(failure);
  }

  renewed(): boolean {
    return false;
  }

  complete(): boolean {
    return true;
  }

  timeoutMs(): number | undefined {
    return this.#attempts.remainingMs();
  }
}
