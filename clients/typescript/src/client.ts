/** The client. One is enough for a program: calls run side by side over one connection. */

import type { DescMessage } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { AdminService } from "../gen/totonoe/v1/admin_service_pb.js";
import { MemoryService } from "../gen/totonoe/v1/memory_service_pb.js";
import { CollectionSchema, MemoryDraftSchema } from "../gen/totonoe/v1/types_pb.js";
import { Caller, type Shared } from "./caller.js";
import { Connection } from "./connection.js";
import type { Proof } from "./credentials.js";
import { rememberAll } from "./bulk.js";
import { draftRequest, remembered } from "./drafts.js";
import { NotFound } from "./errors.js";
import type * as models from "./models.js";
import { Consolidating, Tidying, Watching } from "./courses.js";
import { SeenRevisions } from "./places.js";
import { checkedPolicy, checkedTimeoutMs, type RetryPolicy } from "./retry.js";
import { reopened } from "./streams.js";
import type { ReviewAnswer } from "./words.js";

/** How a client is made. */
export interface TotonoeOptions extends Proof {
  /** Who is calling: what it writes belongs to it, and it alone sees its private memories. */
  agentId?: string | undefined;
  /**
   * `host:port`, `https://host:port` (TLS) or `unix:/path`. Default: `TOTONOE_ADDRESS`, else the
   * socket of this user's daemon where one answers, else `127.0.0.1:7766`. With commas several of them,
   * of daemons that share a store: they are asked in turn, the next one where one is unavailable, and
   * reads show at least what earlier answers showed.
   */
  address?: string | undefined;
  /** Where calls go that do not say; empty means `default`. */
  collection?: string | undefined;
  /** Deadline of a call in milliseconds. Default 30,000; `Infinity`: none. */
  timeoutMs?: number | undefined;
  /** How often a call is tried again while the daemon is unavailable. */
  retry?: RetryPolicy | undefined;
  /** In place of address, token and files: what carries the calls. It is not closed with the client. */
  transport?: Transport | undefined;
}

/** Every call of the contract as it is on the wire. */
export interface Raw {
  memory: Client<typeof MemoryService>;
  admin: Client<typeof AdminService>;
}

const OPTIONS = ["agentId", "address", "collection", "timeoutMs", "retry", "transport", "token", "ca", "cert", "key"];
const POLICIES = ["guard", "diversity", "decay", "retention", "blast", "tidy"] as const;

/**
 * A connection to a daemon, or to several that share a store; made at the first call.
 *
 * Every call rejects with a `TotonoeError`, or with a `TypeError` or `RangeError` for what cannot be
 * sent at all. It is tried again while the daemon is unavailable, until `timeoutMs` is over.
 */
export class Totonoe implements AsyncDisposable {
  readonly #caller: Caller;

  /**
   * @throws RangeError, TypeError if an option is wrong.
   * @throws InsecureConnection if a token would go over plain TCP to another machine.
   */
  constructor(options?: TotonoeOptions);
  /** @internal */
  constructor(options: TotonoeOptions, shared: Shared);
  constructor(options: TotonoeOptions = {}, shared?: Shared) {
    for (const name of Object.keys(options)) {
      if (!OPTIONS.includes(name)) throw new TypeError(`${name}: no such option, allowed: ${OPTIONS.join(", ")}`);
    }
    shared ??= sharedOf(options);
    this.#caller = new Caller(shared, text("agentId", options.agentId), text("collection", options.collection));
  }

  /** Where the daemons are, with commas; empty before the first call if one is still to be looked for. */
  get address(): string {
    return this.#caller.shared.connection.address;
  }

  /** Who is calling. */
  get agentId(): string {
    return this.#caller.agentId;
  }

  /** The calls as they are on the wire: no retries, no agent, and the errors of the transport. */
  get raw(): Raw {
    const { connection } = this.#caller.shared;
    return { memory: createClient(MemoryService, connection), admin: createClient(AdminService, connection) };
  }

  /** A client of another agent over the same connection; closing one closes both. */
  asAgent(agentId: string): Totonoe {
    return new Totonoe({ agentId, collection: this.#caller.collection }, this.#caller.shared);
  }

  /** Ends the connection; calls that run reject with `ClientClosed`. Safe to call twice. */
  close(): void {
    this.#caller.shared.connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  // -- memories

  /** Saves a memory, or gives the one that says the same already. A refusal is no error. */
  async remember(content: string, options: models.RememberOptions = {}): Promise<models.Remembered> {
    const answer = await this.#caller.run(MemoryService.method.remember, draftRequest(content, options));
    return remembered(answer);
  }

  /** Gives the answer that `remember` would give now. Saves nothing. */
  async check(content: string, options: models.CheckOptions = {}): Promise<models.Checked> {
    return this.#caller.run(MemoryService.method.check, draftRequest(content, options));
  }

  /** Finds memories by meaning and by words; best first. One of text and `vector` must be given. */
  async recall(query: string, options: models.RecallOptions = {}): Promise<models.Recalled> {
    const { asOf, ...rest } = options;
    return this.#caller.run(MemoryService.method.recall, { fold: true, ...rest, text: query, asOf: moment(asOf) });
  }

  /** Reads a memory by its id, or by `ext:` and its external id. Rejects with `NotFound`. */
  async get(memoryId: string, options: models.GetOptions = {}): Promise<models.Memory> {
    const { memories } = await this.getMany([memoryId], options);
    const [found] = memories;
    if (found === undefined) {
      throw new NotFound(`memory ${memoryId} not found`, { code: "NOT_FOUND", reason: "MEMORY_NOT_FOUND" });
    }
    return found;
  }

  /** Reads 1 to 1,000 memories in the order of the ids. Of several, unknown ones are listed. */
  async getMany(ids: readonly string[], options: models.GetOptions = {}): Promise<models.Found> {
    const { asOf, ...rest } = options;
    return this.#caller.run(MemoryService.method.get, { ...rest, ids, asOf: moment(asOf) });
  }

  /** Gives a page of memories by creation time, then id. */
  async list(options: models.ListOptions = {}): Promise<models.Page> {
    const { asOf, ...rest } = options;
    return this.#caller.run(MemoryService.method.list, { ...rest, asOf: moment(asOf) });
  }

  /** Yields all memories that meet the filter, page by page; `timeoutMs` is per page. */
  async *listAll(options: Omit<models.ListOptions, "pageToken"> = {}): AsyncGenerator<models.Memory, void, undefined> {
    let pageToken = "";
    do {
      const page = await this.list({ ...options, pageToken });
      yield* page.memories;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Changes the fields that are named; `null` sets one back to its default. */
  async update(memoryId: string, changes: models.Changes, options: models.UpdateOptions = {}): Promise<models.Updated> {
    const answer = await this.#caller.run(MemoryService.method.update, {
      ...options,
      memoryId,
      memory: changes,
      updateMask: { paths: maskOf(MemoryDraftSchema, changes) },
    });
    return answer as models.Updated;
  }

  /** Hides memories and takes their links away; `undo` restores them. A single unknown id rejects. */
  async forget(ids: string | readonly string[], options: models.ForgetOptions = {}): Promise<models.Forgotten> {
    return this.#caller.run(MemoryService.method.forget, { ...options, ids: several(ids) });
  }

  /**
   * Saves many memories over one stream; results come in the order of the items. Up to 64 items are
   * read ahead: for input that trickles in, call `remember`. An item that fails has its error in its
   * own result, and the rest goes on. Leave the loop to end it early.
   *
   * `timeoutMs` is for each answer, not for the whole stream. Rejects if the stream failed for good,
   * or an item cannot be sent; results that came before stand.
   */
  rememberMany(
    items: Iterable<models.Item> | AsyncIterable<models.Item>,
    options: models.CallOptions = {},
  ): AsyncGenerator<models.ItemResult, void, undefined> {
    return rememberAll(this.#caller, items, options);
  }

  // -- the past

  /**
   * Takes back the operation of a revision or operation id: all that it touched is again what it was.
   * An undo is an operation too. Rejects with `UndoRefused` if something changed since.
   */
  async undo(target: number | string, options: models.UndoOptions = {}): Promise<models.Undone> {
    const named = typeof target === "number" ? { targetRevision: target } : { targetOperationId: target };
    return this.#caller.run(MemoryService.method.undo, { ...options, ...named });
  }

  /** Gives a page of a memory's versions, newest first, each with its agent and reason. */
  async history(memoryId: string, options: models.PageOptions = {}): Promise<models.HistoryPage> {
    return this.#caller.run(MemoryService.method.history, { ...options, memoryId });
  }

  /** Gives a page of a collection's operations, newest first. It may be short and have a next one. */
  async operations(options: models.OperationsOptions = {}): Promise<models.OperationPage> {
    return this.#caller.run(MemoryService.method.listOperations, options);
  }

  /**
   * Follows the changes of a collection, oldest first, until the loop is left or `signal` is aborted.
   * It goes on by itself, from the last revision, after a lost connection and a restart of the daemon.
   * `timeoutMs` is for the tries before the first event.
   */
  watch(options: models.WatchOptions = {}): AsyncGenerator<models.WatchEvent, void, undefined> {
    const { request, signal, timeoutMs } = this.#caller.prepare(MemoryService.method.watch.input, options);
    const { policy, seen } = this.#caller.shared;
    return reopened(this.#caller, new Watching(request, policy, timeoutMs, seen !== undefined), signal);
  }

  // -- several memories together

  /** Links two memories, both directions at once. Linking again changes confidence and note. */
  async link(sourceId: string, targetId: string, options: models.LinkOptions = {}): Promise<models.Linked> {
    return this.#caller.run(MemoryService.method.link, { ...options, sourceId, targetId });
  }

  /** Takes a link away, both directions at once; without `type` every link of the two. */
  async unlink(sourceId: string, targetId: string, options: models.UnlinkOptions = {}): Promise<models.Unlinked> {
    return this.#caller.run(MemoryService.method.unlink, { ...options, sourceId, targetId });
  }

  /** Follows links from 1 to 100 memories by spreading activation; highest first. */
  async neighbors(ids: string | readonly string[], options: models.NeighborsOptions = {}): Promise<models.Neighborhood> {
    return this.#caller.run(MemoryService.method.neighbors, { ...options, ids: several(ids) });
  }

  /** Makes one memory of several; it supersedes the others. `lost` says what its text no longer says. */
  async merge(
    keepId: string,
    removeIds: string | readonly string[],
    options: models.MergeOptions = {},
  ): Promise<models.Merged> {
    const given = { ...options, keepId, removeIds: several(removeIds) };
    return (await this.#caller.run(MemoryService.method.merge, given)) as models.Merged;
  }

  /** Makes an episode of 1 to 1,000 memories: they belong together as something that happened. */
  async createEpisode(
    summary: string,
    memoryIds: readonly string[],
    options: models.CreateEpisodeOptions = {},
  ): Promise<models.EpisodeMade> {
    const { startTime, endTime, importance, private: isPrivate, ...rest } = options;
    const episode = { summary, memoryIds, startTime, endTime, importance, private: isPrivate };
    return this.#caller.run(MemoryService.method.createEpisode, { ...rest, episode });
  }

  /** Reads an episode, on request with its memories. Rejects with `NotFound`. */
  async getEpisode(episodeId: string, options: models.GetEpisodeOptions = {}): Promise<models.EpisodeRead> {
    return this.#caller.run(MemoryService.method.getEpisode, { ...options, id: episodeId });
  }

  /** Gives a page of episodes by start, then id. */
  async listEpisodes(options: models.ListEpisodesOptions = {}): Promise<models.EpisodePage> {
    return this.#caller.run(MemoryService.method.listEpisodes, options);
  }

  /** Deletes an episode; its memories stay. */
  async deleteEpisode(episodeId: string, options: models.ReasonOptions = {}): Promise<models.EpisodeDeleted> {
    return this.#caller.run(MemoryService.method.deleteEpisode, { ...options, id: episodeId });
  }

  // -- putting in order

  /** Merges memories that a session said several times over into one each. */
  async endSession(sessionId: string, options: models.EndSessionOptions = {}): Promise<models.SessionEnded> {
    return this.#caller.run(MemoryService.method.endSession, { ...options, sessionId });
  }

  /**
   * Links what was recalled together, then looks for pairs that may say the same; the last event is
   * `done`. Nothing is merged. A stream that breaks goes on where it was.
   */
  consolidate(options: models.ConsolidateOptions = {}): AsyncGenerator<models.ConsolidateEvent, void, undefined> {
    const { request, signal, timeoutMs } = this.#caller.prepare(MemoryService.method.consolidate.input, options);
    return reopened(this.#caller, new Consolidating(request, this.#caller.shared.policy, timeoutMs), signal);
  }

  /**
   * Finds exact duplicates, and with `plan` clusters of near states; the last event is `done`. Nothing
   * is changed without `apply`. `timeoutMs` is for the whole stream.
   */
  tidy(options: models.TidyOptions = {}): AsyncGenerator<models.TidyEvent, void, undefined> {
    const { request, signal, timeoutMs } = this.#caller.prepare(MemoryService.method.tidy.input, options);
    return reopened(this.#caller, new Tidying(request, this.#caller.shared.policy, timeoutMs), signal);
  }

  // -- questions

  /**
   * Answers whether two live memories say the same, in one operation: `same`: they become one;
   * `different`: the pair is dismissed; `replaces`: the first takes the place of the other;
   * `replaced_by`: the other takes its place.
   */
  async resolve(
    memoryId: string,
    otherId: string,
    answer: models.Answer,
    options: models.ResolveOptions = {},
  ): Promise<models.Resolved> {
    return this.#caller.run(MemoryService.method.resolve, { ...options, memoryId, otherId, answer });
  }

  /**
   * Confirms or rejects a memory that was saved pending, in one operation. `confirm`: it becomes one like
   * others, and passes the guard as with `remember`. `reject`: it is forgotten.
   */
  async review(
    memoryId: string,
    answer: ReviewAnswer,
    options: models.ReviewOptions = {},
  ): Promise<models.Reviewed> {
    return this.#caller.run(MemoryService.method.review, { ...options, memoryId, answer });
  }

  /**
   * Gives a page of pairs that somebody is asked about; `pageSize` 1 to 100, default 20. The first page
   * has what waits for a `review` too.
   */
  async questions(options: models.QuestionsOptions = {}): Promise<models.QuestionPage> {
    return this.#caller.run(MemoryService.method.listQuestions, options);
  }

  /** Says that two memories are no duplicates: nothing that looks for duplicates lists the pair. */
  async dismiss(idA: string, idB: string, options: models.ReasonOptions = {}): Promise<models.Dismissed> {
    return this.#caller.run(MemoryService.method.dismiss, { ...options, idA, idB });
  }

  /** Takes back what `dismiss` said. */
  async undismiss(idA: string, idB: string, options: models.ReasonOptions = {}): Promise<models.Undismissed> {
    return this.#caller.run(MemoryService.method.undismiss, { ...options, idA, idB });
  }

  // -- collections

  /** Makes an empty collection; a setting that is not given has the daemon's default. */
  async createCollection(
    name: string,
    options: models.CreateCollectionOptions = {},
  ): Promise<models.CollectionCreated> {
    return this.#caller.run(AdminService.method.createCollection, { ...options, name });
  }

  /** Gives the settings of a collection; without a name the client's. */
  async getCollection(
    name: string = this.#caller.collection,
    options: Omit<models.CallOptions, "collection"> = {},
  ): Promise<models.Collection> {
    const answer = await this.#caller.run(AdminService.method.getCollection, { ...options, name });
    return answer.collection as models.Collection;
  }

  /** Gives a page of collections by name. */
  async listCollections(options: Omit<models.PageOptions, "collection"> = {}): Promise<models.CollectionPage> {
    return this.#caller.run(AdminService.method.listCollections, options);
  }

  /** Changes the settings that are given; the others stay. `null` leaves one without a value. */
  async updateCollection(
    name: string,
    settings: models.Settings,
    options: models.UpdateCollectionOptions = {},
  ): Promise<models.CollectionUpdated> {
    return this.#caller.run(AdminService.method.updateCollection, {
      ...options,
      name,
      collection: settings,
      updateMask: { paths: settingsMask(settings) },
    });
  }

  /** Deletes a collection with all that is in it; `undo` of the operation id brings it back. */
  async deleteCollection(
    name: string,
    options: Omit<models.WriteOptions, "collection"> = {},
  ): Promise<models.CollectionDeleted> {
    return this.#caller.run(AdminService.method.deleteCollection, { ...options, name });
  }

  /** Gives figures of the daemon, and of one collection or (none named) of all that are open. */
  async stats(options: models.CallOptions = {}): Promise<models.Stats> {
    return this.#caller.run(AdminService.method.stats, { ...options, collection: options.collection ?? "" });
  }
}

function sharedOf(options: TotonoeOptions): Shared {
  const connection = new Connection(options.address, options, options.transport);
  return {
    connection,
    seen: connection.places.count > 1 ? new SeenRevisions() : undefined,
    policy: checkedPolicy(options.retry),
    timeoutMs: checkedTimeoutMs(options.timeoutMs ?? 30_000),
  };
}

function text(name: string, given: string | undefined): string {
  if (given !== undefined && typeof given !== "string") {
    throw new TypeError(`${name}: got a ${typeof given}, allowed: a string`);
  }
  return given ?? "";
}

function several(ids: string | readonly string[]): readonly string[] {
  return typeof ids === "string" ? [ids] : ids;
}

function moment(asOf: models.Moment | undefined): object | undefined {
  if (asOf === undefined) return undefined;
  return asOf instanceof Date ? { time: asOf } : { revision: asOf };
}

/** The names of the fields that are said, as the wire has them. */
function maskOf(desc: DescMessage, said: object): string[] {
  const names = Object.keys(said).filter((name) => (said as Record<string, unknown>)[name] !== undefined);
  return names.map((name) => desc.field[name]?.name ?? name).sort();
}

/** The paths of the settings that are said; a preset first, so that what is said beside it wins. */
function settingsMask(settings: models.Settings): string[] {
  const paths = settings.description === undefined ? [] : ["description"];
  for (const policy of POLICIES) {
    const said = settings[policy];
    const desc = CollectionSchema.field[policy];
    if (said === undefined || said === null || desc?.fieldKind !== "message") continue;
    const names = maskOf(desc.message, said).sort((a, b) => Number(b === "preset") - Number(a === "preset"));
    paths.push(...names.map((name) => `${policy}.${name}`));
  }
  return paths;
}
