/**
 * Decides when a failed call is tried again, and after how long.
 *
 * Only `Unavailable` is: the connection was refused, or the daemon starts, stops or is busy. It is
 * tried until the deadline of the call. The operation id is the same on each try, so that a second
 * try is safe even if an answer was lost on the way.
 */

import { setTimeout as wait } from "node:timers/promises";
import { Unavailable, type TotonoeError } from "./errors.js";

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Limits how often and how fast calls are tried again, at most until their deadline. */
export interface RetryPolicy {
  /** Tries in all; 1 means never again; `undefined`: as many as fit before the deadline. */
  attemptsMax?: number | undefined;
  /** Wait before the second try in milliseconds, doubled for each further one. Default 50. */
  backoffInitialMs?: number | undefined;
  /** The longest such wait. Default 1,000. A longer wait that the daemon asks for wins. */
  backoffMaxMs?: number | undefined;
  /** Share of the wait, 0 to 1, that is drawn at random. Default 0.5. */
  jitter?: number | undefined;
}

/** A policy with every value, checked. */
export interface CheckedPolicy {
  attemptsMax: number;
  backoffInitialMs: number;
  backoffMaxMs: number;
  jitter: number;
}

/** A policy with its defaults. Throws RangeError for a value outside its range. */
export function checkedPolicy(policy: RetryPolicy = {}): CheckedPolicy {
  const attemptsMax = policy.attemptsMax ?? Number.POSITIVE_INFINITY;
  const { backoffInitialMs = 50, backoffMaxMs = 1_000, jitter = 0.5 } = policy;
  if (!(attemptsMax >= 1)) throw new RangeError(`attemptsMax: got ${attemptsMax}, allowed: 1 or more`);
  if (!(backoffInitialMs >= 0 && backoffInitialMs <= backoffMaxMs)) {
    throw new RangeError("backoffInitialMs must lie between 0 and backoffMaxMs");
  }
  if (!(jitter >= 0 && jitter <= 1)) throw new RangeError(`jitter: got ${jitter}, allowed: 0 to 1`);
  return { attemptsMax, backoffInitialMs, backoffMaxMs, jitter };
}

/** The deadline in milliseconds, `Infinity` for none. Throws RangeError unless above 0. */
export function checkedTimeoutMs(timeoutMs: number): number {
  if (!(typeof timeoutMs === "number" && timeoutMs > 0)) {
    throw new RangeError(`timeoutMs: got ${String(timeoutMs)}, allowed: above 0`);
  }
  return timeoutMs;
}

/** The tries of one call: how much time is left, and whether there is another one. */
export class Attempts {
  readonly #policy: CheckedPolicy;
  readonly #begunMs = performance.now();
  readonly #deadlineMs: number;
  #failedCount = 0;

  constructor(policy: CheckedPolicy, timeoutMs: number) {
    this.#policy = policy;
    this.#deadlineMs = this.#begunMs + timeoutMs;
  }

  /** Milliseconds until the deadline, at least 1; `undefined`: there is no deadline. */
  remainingMs(): number | undefined {
    if (this.#deadlineMs === Number.POSITIVE_INFINITY) return undefined;
    // 0 would mean no deadline to the transport, and a longer one than Node's timers take would be none.
    return Math.min(TIMER_MS_MAX, Math.max(1, Math.ceil(this.#deadlineMs - performance.now())));
  }

  /** Milliseconds to wait before the next try; `undefined`: give up and throw `failure`. */
  waitMs(failure: TotonoeError): number | undefined {
    this.#failedCount += 1;
    if (!(failure instanceof Unavailable)) return undefined;
    const waitMs = this.#backoffMs(failure);
    const now = performance.now();
    if (now + waitMs >= this.#deadlineMs || this.#failedCount >= this.#policy.attemptsMax) {
      failure.triedCount = this.#failedCount;
      failure.triedMs = now - this.#begunMs;
      return undefined;
    }
    return waitMs;
  }

  #backoffMs(failure: Unavailable): number {
    const doubled = this.#policy.backoffInitialMs * 2 ** Math.min(this.#failedCount - 1, 64);
    const waitMs = Math.min(doubled, this.#policy.backoffMaxMs) * (1 - this.#policy.jitter * Math.random());
    if (failure.retryDelayMs === undefined) return waitMs;
    // Never earlier than asked for; the jitter comes on top.
    return Math.max(waitMs, failure.retryDelayMs * (1 + 0.1 * Math.random()));
  }
}

/** The tries of a stream without a deadline: time counts from the first failure in a row. */
export class Patience {
  readonly #policy: CheckedPolicy;
  readonly #timeoutMs: number;
  #outage: Attempts | undefined;

  constructor(policy: CheckedPolicy, timeoutMs: number) {
    this.#policy = policy;
    this.#timeoutMs = timeoutMs;
  }

  /** Ends the row of failures. */
  answered(): void {
    this.#outage = undefined;
  }

  /** Milliseconds to wait before the next try; `undefined`: give up and throw `failure`. */
  waitMs(failure: TotonoeError): number | undefined {
    this.#outage ??= new Attempts(this.#policy, this.#timeoutMs);
    return this.#outage.waitMs(failure);
  }
}

/** Waits; an aborted signal ends it by throwing the signal's reason. */
export async function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  try {
    await wait(waitMs, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
