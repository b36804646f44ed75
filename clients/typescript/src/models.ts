/** What calls take and give, by the contract: its comments are those of the fields. */

import type { JsonValue } from "@bufbuild/protobuf";
import type * as admin from "../gen/totonoe/v1/admin_service_pb.js";
import type * as audit from "../gen/totonoe/v1/audit_pb.js";
import type * as cleanup from "../gen/totonoe/v1/cleanup_pb.js";
import type * as consolidating from "../gen/totonoe/v1/consolidate_pb.js";
import type * as graph from "../gen/totonoe/v1/graph_pb.js";
import type * as memory from "../gen/totonoe/v1/memory_service_pb.js";
import type * as operations from "../gen/totonoe/v1/operations_pb.js";
import type * as asking from "../gen/totonoe/v1/questions_pb.js";
import type * as tidying from "../gen/totonoe/v1/tidy_pb.js";
import type * as types from "../gen/totonoe/v1/types_pb.js";
import type { TotonoeError } from "./errors.js";
import type { Fields, Plain } from "./mapping.js";
import type { Answer, Operator } from "./words.js";

// -- options of every call

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. A write may have been done or not. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for all tries together; `Infinity`: no deadline. Default: the client's. */
  timeoutMs?: number | undefined;
  /** Where the call goes. Default: the client's; empty means `default`. */
  collection?: string | undefined;
}

/** What every call that writes takes. */
export interface WriteOptions extends CallOptions {
  /** At most 128 bytes. The same id and payload give the first answer again. Default: a new one. */
  operationId?: string | undefined;
}

/** What every call that gives pages takes. */
export interface PageOptions extends CallOptions {
  /** How many at most, 1 to 1,000. Default 100. */
  pageSize?: number | undefined;
  /** `nextPageToken` of the page before. */
  pageToken?: string | undefined;
}

/** A moment of a collection's past: a revision, or a time. */
export type Moment = number | Date;

// -- memories

export interface Memory extends Plain<types.Memory> {}
export interface Link extends Plain<types.Link> {}
export interface Evidence extends Plain<types.Evidence> {}
export interface Duplicate extends Plain<types.Duplicate> {}
export interface SimilarMemory extends Plain<types.SimilarMemory> {}

/** The fields of a memory that is saved, all but its text. */
export interface DraftFields extends Omit<Fields<types.MemoryDraft>, "content"> {}

type Envelope = "collection" | "operationId" | "agentId";

export interface CheckOptions
  extends CallOptions,
    DraftFields,
    Omit<Fields<memory.CheckRequest>, Envelope | "memory"> {}

export interface RememberOptions
  extends WriteOptions,
    DraftFields,
    Omit<Fields<memory.RememberRequest>, Envelope | "memory"> {}

type Answered = Omit<Plain<memory.RememberResponse>, "saved" | "duplicate">;

/** It was saved: as a new memory, or as the next version of one (`grownId`). */
export interface Saved extends Answered {
  saved: true;
  duplicate?: undefined;
}

/** It was not: a memory says the same already. */
export interface Refused extends Answered {
  saved: false;
  /** The memory that says the same. Absent: a forgotten one did (`forgotten`). */
  duplicate?: Duplicate;
  /** Its id, or that of the forgotten one. */
  duplicateOf: string;
  /** Why it says the same; empty if the policy refuses by similarity alone. */
  evidence: Evidence[];
}

export type Remembered = Saved | Refused;

/** A text to remember, or a text with its fields. */
export type Item = string | ({ content: string } & Omit<RememberOptions, "signal" | "timeoutMs">);

/** What became of one item. */
export type ItemResult =
  | { index: number; item: Item; remembered: Remembered; error?: undefined }
  | { index: number; item: Item; remembered?: undefined; error: TotonoeError };

/** What `remember` would answer now. */
export interface Checked extends Plain<memory.CheckResponse> {}

/** Which memories are meant; all that is said must hold. */
export interface Filter extends Omit<Fields<types.Filter>, "comparisons"> {
  /** Conditions on attributes or the payload, by the path of keys. */
  comparisons?: readonly { path: readonly string[]; operator: Operator; value: JsonValue }[] | undefined;
}

export interface RecallOptions
  extends CallOptions,
    Omit<Fields<memory.RecallRequest>, Envelope | "text" | "filter" | "asOf"> {
  /** Which memories may be found. */
  filter?: Filter | undefined;
  /** Search what was there then; counts no access. */
  asOf?: Moment | undefined;
}

export interface Hit extends Plain<memory.Hit> {}
export interface Recalled extends Plain<memory.RecallResponse> {}

export interface GetOptions extends CallOptions, Omit<Fields<memory.GetRequest>, Envelope | "ids" | "asOf"> {
  /** As it was then, links included. */
  asOf?: Moment | undefined;
}

export interface Found extends Plain<memory.GetResponse> {}

export interface ListOptions extends PageOptions {
  filter?: Filter | undefined;
  /** What was there then, links included. */
  asOf?: Moment | undefined;
  /** Also return the vectors. */
  includeVectors?: boolean | undefined;
  /** Count this as an access, which also puts `expiresTime` off. */
  touch?: boolean | undefined;
}

export interface Page extends Plain<memory.ListResponse> {}

/** New values; `null` sets a field back to its default. */
export type Changes = {
  [K in Exclude<keyof Fields<types.MemoryDraft>, "kind" | "createdTime">]?: Fields<types.MemoryDraft>[K] | null;
};

export interface UpdateOptions extends WriteOptions {
  /** Reject with `StaleRevision` unless the memory is at it. 0: whatever it is at. */
  expectedRevision?: number | undefined;
  /** Why, for the history. */
  reason?: string | undefined;
  /** Change the text even if it then repeats another live memory. */
  force?: boolean | undefined;
}

type UpdateAnswer = Omit<Plain<memory.UpdateResponse>, "updated" | "memory" | "duplicate">;

/** It was changed, or its new text repeats another live memory and nothing was. */
export type Updated =
  | (UpdateAnswer & { updated: true; memory: Memory; duplicate?: undefined })
  | (UpdateAnswer & { updated: false; memory?: Memory; duplicate: Duplicate });

export interface ForgetOptions extends WriteOptions, Omit<Fields<memory.ForgetRequest>, Envelope | "ids" | "filter"> {
  /** Without ids and with `dryRun`: what would be forgotten if it were named. */
  filter?: Filter | undefined;
}

export interface Forgotten extends Plain<memory.ForgetResponse> {}

// -- the past

export interface Operation extends Plain<operations.Operation> {}
export interface UndoConflict extends Plain<operations.UndoConflict> {}

export interface UndoOptions
  extends WriteOptions,
    Omit<Fields<operations.UndoRequest>, Envelope | "target"> {}

/** What was taken back, or why nothing was. */
export interface Undone extends Plain<operations.UndoResponse> {}

/** What a memory was from one revision on. */
export interface Version extends Plain<operations.Version> {}
export interface HistoryPage extends Plain<operations.HistoryResponse> {}

export interface OperationsOptions
  extends PageOptions,
    Omit<Fields<operations.ListOperationsRequest>, Envelope | "pageSize" | "pageToken"> {}

export interface OperationPage extends Plain<operations.ListOperationsResponse> {}

/** A message of a stream: which kind, and the fields of that kind under its name. */
type EventOf<T, O extends keyof T> = T[O] extends infer U
  ? U extends { case: infer C extends string; value: infer V }
    ? { type: C } & { [K in C]: Plain<V> } & Plain<Omit<T, O>>
    : never
  : never;

export interface WatchOptions
  extends CallOptions,
    Omit<Fields<operations.WatchRequest>, Envelope | "filter"> {
  /** Only memories that meet it before or after a change. */
  filter?: Filter | undefined;
}

/** A change, or a sign of life; everything up to its `revision` was told. */
export type WatchEvent = EventOf<operations.WatchResponse, "event">;

// -- several memories together

export interface LinkOptions
  extends WriteOptions,
    Omit<Fields<memory.LinkRequest>, Envelope | "sourceId" | "targetId"> {}

export interface Linked extends Plain<memory.LinkResponse> {}

export interface UnlinkOptions
  extends WriteOptions,
    Omit<Fields<memory.UnlinkRequest>, Envelope | "sourceId" | "targetId"> {}

export interface Unlinked extends Plain<memory.UnlinkResponse> {}

export interface NeighborsOptions extends CallOptions, Omit<Fields<graph.NeighborsRequest>, Envelope | "ids"> {}
export interface Neighborhood extends Plain<graph.NeighborsResponse> {}

export interface MergeOptions
  extends WriteOptions,
    Omit<Fields<graph.MergeRequest>, Envelope | "keepId" | "removeIds"> {}

type MergeAnswer = Omit<Plain<graph.MergeResponse>, "merged" | "memory" | "duplicate">;

/** They are one now, or the text would repeat another live memory and nothing was changed. */
export type Merged =
  | (MergeAnswer & { merged: true; memory: Memory; duplicate?: undefined })
  | (MergeAnswer & { merged: false; memory?: Memory; duplicate?: Duplicate });

type EpisodeFields = Omit<Fields<graph.EpisodeDraft>, "summary" | "memoryIds">;

export interface CreateEpisodeOptions extends WriteOptions, EpisodeFields {}
export interface EpisodeMade extends Plain<graph.CreateEpisodeResponse> {}
export interface GetEpisodeOptions extends CallOptions, Omit<Fields<graph.GetEpisodeRequest>, Envelope | "id"> {}
export interface EpisodeRead extends Plain<graph.GetEpisodeResponse> {}

export interface ListEpisodesOptions
  extends PageOptions,
    Omit<Fields<graph.ListEpisodesRequest>, Envelope | "pageSize" | "pageToken"> {}

export interface EpisodePage extends Plain<graph.ListEpisodesResponse> {}
export interface EpisodeDeleted extends Plain<graph.DeleteEpisodeResponse> {}

// -- putting in order

export interface EndSessionOptions
  extends WriteOptions,
    Omit<Fields<cleanup.EndSessionRequest>, Envelope | "sessionId"> {}

export interface SessionEnded extends Plain<cleanup.EndSessionResponse> {}
export interface ConsolidateOptions extends WriteOptions, Omit<Fields<consolidating.ConsolidateRequest>, Envelope> {}
export type ConsolidateEvent = EventOf<consolidating.ConsolidateResponse, "event">;
export interface TidyOptions extends WriteOptions, Omit<Fields<tidying.TidyRequest>, Envelope> {}
export type TidyEvent = EventOf<tidying.TidyResponse, "message">;

// -- questions

export interface ResolveOptions
  extends WriteOptions,
    Omit<Fields<asking.ResolveRequest>, Envelope | "memoryId" | "otherId" | "answer"> {}

/** What became of both; `resolved` false: nothing was changed. */
export interface Resolved extends Plain<asking.ResolveResponse> {}

/** Options of `review`. */
export interface ReviewOptions
  extends WriteOptions,
    Omit<Fields<asking.ReviewRequest>, Envelope | "memoryId" | "answer"> {}

/** Answer of `review`. */
export interface Reviewed extends Plain<asking.ReviewResponse> {}

export interface QuestionsOptions extends PageOptions {
  /** Only questions about this memory. */
  memoryId?: string | undefined;
}

export interface Question extends Plain<asking.Question> {}
export interface QuestionPage extends Plain<asking.ListQuestionsResponse> {}

export interface ReasonOptions extends WriteOptions {
  /** Why, for the history. */
  reason?: string | undefined;
}

export interface Dismissed extends Plain<audit.DismissResponse> {}
export interface Undismissed extends Plain<audit.UndismissResponse> {}

export type { Answer };

// -- collections

export interface Collection extends Plain<types.Collection> {}

type Policies = "guard" | "diversity" | "decay" | "retention" | "blast" | "tidy";

export interface CreateCollectionOptions
  extends Omit<WriteOptions, "collection">,
    Omit<Fields<admin.CreateCollectionRequest>, Envelope | "name"> {}

type OrUnset<T> = { [K in keyof T]: T[K] | null };

/** New settings: what is not said stays; `null` leaves a field without a value. */
export type Settings = {
  description?: string | undefined;
} & { [K in Policies]?: OrUnset<NonNullable<Fields<types.Collection>[K]>> | undefined };

export interface UpdateCollectionOptions extends Omit<WriteOptions, "collection"> {
  /** Reject with `StaleRevision` unless the settings are at it. 0: whatever they are at. */
  expectedRevision?: number | undefined;
  /** Why, for the history. */
  reason?: string | undefined;
}

export interface CollectionCreated extends Plain<admin.CreateCollectionResponse> {}
export interface CollectionUpdated extends Plain<admin.UpdateCollectionResponse> {}
export interface CollectionDeleted extends Plain<admin.DeleteCollectionResponse> {}
export interface CollectionPage extends Plain<admin.ListCollectionsResponse> {}

/** Figures of the daemon and of its collections. */
export interface Stats extends Plain<admin.StatsResponse> {}
