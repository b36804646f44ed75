/** Several daemons on one store: which of them to ask next, and what was seen of a collection. */

import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Unavailable, type TotonoeError } from "./errors.js";

export const PLACES_MAX = 16;
/** How long a daemon that was unavailable is passed over while another one may answer. */
export const DOWN_MS = 2_000;
/** Daemons that a read asks which lack the revision that it wants; then it fails. */
const BEHIND_MAX = 2;
const COLLECTIONS_MAX = 1_024;

/**
 * Daemons by number: for a collection the one that answered last, else in turn. A daemon that answered
 * for a collection has it open, and as new as the answer was.
 */
export class Places {
  readonly count: number;
  readonly #nowMs: () => number;
  readonly #downUntilMs: number[];
  readonly #answered = new Map<string, number>();
  #turn: number;

  /** Which one is asked first is left open, so that clients with the same list do not all begin with one daemon. */
  constructor(
    count: number,
    nowMs: () => number = () => performance.now(),
    first: number = Math.floor(Math.random() * count),
  ) {
    this.count = count;
    this.#nowMs = nowMs;
    this.#turn = first;
    this.#downUntilMs = Array.from({ length: count }, () => Number.NEGATIVE_INFINITY);
  }

  /**
   * The one that answered last for a collection, if there is one, else the next one. One that was
   * unavailable lately is passed over; if all were, it is the next one.
   */
  pick(collection?: string): number {
    const nowMs = this.#nowMs();
    const last = collection === undefined ? undefined : this.#answered.get(collection);
    if (last !== undefined && this.#isUp(last, nowMs)) return last;
    const first = this.#turn;
    this.#turn = (first + 1) % this.count;
    const order = this.#downUntilMs.map((_, step) => (first + step) % this.count);
    return order.find((place) => this.#isUp(place, nowMs)) ?? first;
  }

  /** Milliseconds until the next try of a call that failed at a place: 0 if another one can be asked at once. */
  after(place: number, failure: TotonoeError, waitMs: number): number {
    if (this.count === 1 || !(failure instanceof Unavailable)) return waitMs;
    const nowMs = this.#nowMs();
    this.#downUntilMs[place] = nowMs + DOWN_MS;
    return this.#downUntilMs.some((_, other) => this.#isUp(other, nowMs)) ? 0 : waitMs;
  }

  /** Notes which daemon answered a call for its collection. */
  answered(place: number, collection: string | undefined): void {
    if (this.count === 1 || collection === undefined) return;
    keep(this.#answered, collection, place);
  }

  #isUp(place: number, nowMs: number): boolean {
    return (this.#downUntilMs[place] as number) <= nowMs;
  }
}

/**
 * The newest revision that answers showed, by collection. A read carries it as `minRevision`, so that
 * it shows what this client wrote and saw through other daemons. A memory of an answer may be newer than
 * the answer's own revision: its row is read after the daemon chose it.
 */
export class SeenRevisions {
  readonly #byCollection = new Map<string, bigint>();

  /** Lets a read ask for what was seen, unless it says more itself. */
  carry(desc: DescMessage, request: Message): void {
    const reading = readingOf(desc, request);
    if (reading === undefined) return;
    const seen = this.#byCollection.get(reading.collection) ?? 0n;
    if (seen > reading.minRevision) reading.minRevision = seen;
  }

  /** Takes in the revisions of an answer and of the memories in it. */
  note(desc: DescMessage, request: Message, answer: Message): void {
    const collection = shownOf(desc, request);
    if (collection === undefined) return;
    const newest = newestIn(answer);
    const known = this.#byCollection.get(collection) ?? 0n;
    keep(this.#byCollection, collection, newest > known ? newest : known);
  }

  /**
   * Whether a read fails because no daemon has what it wants, of which `behindCount` said so. Then what
   * was seen is forgotten: the collection may be another one of that name.
   */
  givesUp(desc: DescMessage, request: Message, behindCount: number): boolean {
    const reading = readingOf(desc, request);
    if (behindCount < BEHIND_MAX || reading === undefined) return false;
    this.#byCollection.delete(reading.collection);
    return true;
  }
}

/** Whether a daemon has not got the revision that a read wants. */
export function isBehind(failure: TotonoeError): boolean {
  return failure.reason === "NOT_CAUGHT_UP";
}

/** The newest revision of an answer, of its memories and of the memories of its hits. */
function newestIn(answer: Message): bigint {
  let newest = revisionOf(answer);
  for (const value of Object.values(answer)) {
    for (const part of Array.isArray(value) ? value : [value]) {
      const revision = revisionOf(part);
      if (revision > newest) newest = revision;
    }
  }
  return newest;
}

/** A message's own revision, else that of its memory; 0 without one. */
function revisionOf(part: unknown): bigint {
  const { revision, memory } = (part ?? {}) as { revision?: unknown; memory?: unknown };
  if (typeof revision === "bigint") return revision;
  const { revision: inner } = (memory ?? {}) as { revision?: unknown };
  return typeof inner === "bigint" ? inner : 0n;
}

/** Keeps a value of a collection; of too many the longest unused one goes. */
function keep<T>(known: Map<string, T>, collection: string, value: T): void {
  // The latest one is the last, so that the first is the longest unused.
  known.delete(collection);
  known.set(collection, value);
  for (const oldest of known.keys()) {
    if (known.size <= COLLECTIONS_MAX) break;
    known.delete(oldest);
  }
}

/** The collection that a call is about; `undefined`: it is about none, or all. */
export function collectionOf(desc: DescMessage, request: Message): string | undefined {
  return "collection" in desc.field ? (request as unknown as Reading).collection : undefined;
}

interface Reading {
  collection: string;
  minRevision: bigint;
}

/** A request as a read that can say what it wants to see; `undefined`: the call is no such read. */
function readingOf(desc: DescMessage, request: Message): Reading | undefined {
  return "minRevision" in desc.field ? (request as unknown as Reading) : undefined;
}

/**
 * The collection whose revision an answer shows; `undefined`: it shows none. That is so for reads, and
 * for writes to memories, which all have an operation id.
 */
function shownOf(desc: DescMessage, request: Message): string | undefined {
  const shows = "operationId" in desc.field || "minRevision" in desc.field;
  return shows ? collectionOf(desc, request) : undefined;
}
