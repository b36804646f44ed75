/** The words of the contract's enums: their names in lower case and without the prefix. */

import type * as cleanup from "../gen/totonoe/v1/cleanup_pb.js";
import type * as consolidating from "../gen/totonoe/v1/consolidate_pb.js";
import type * as memory from "../gen/totonoe/v1/memory_service_pb.js";
import type * as operations from "../gen/totonoe/v1/operations_pb.js";
import type * as questions from "../gen/totonoe/v1/questions_pb.js";
import type * as reembedding from "../gen/totonoe/v1/reembed_pb.js";
import type * as tidying from "../gen/totonoe/v1/tidy_pb.js";
import type * as types from "../gen/totonoe/v1/types_pb.js";

type WordsOf<E> = Lowercase<Exclude<keyof E & string, "UNSPECIFIED">>;

export type Kind = WordsOf<typeof types.Kind>;
export type StateKind = WordsOf<typeof types.StateKind>;
export type Source = WordsOf<typeof types.Source>;
export type Status = WordsOf<typeof types.Status>;
export type LinkType = WordsOf<typeof types.LinkType>;
export type Operator = WordsOf<typeof types.Operator>;
export type Method = WordsOf<typeof types.Method>;
export type Verdict = WordsOf<typeof types.Verdict>;
export type Finding = WordsOf<typeof types.Finding>;
export type Action = WordsOf<typeof types.Action>;
export type Tokenizer = WordsOf<typeof types.Tokenizer>;
export type Preset = WordsOf<typeof types.Preset>;
export type RecallMode = WordsOf<typeof memory.RecallMode>;
export type DiversityEffect = WordsOf<typeof memory.DiversityEffect>;
export type UndoConflictKind = WordsOf<typeof operations.UndoConflictKind>;
export type ChangeType = WordsOf<typeof operations.ChangeType>;
export type Answer = WordsOf<typeof questions.Answer>;
export type QuestionKind = WordsOf<typeof questions.QuestionKind>;
export type ReviewAnswer = WordsOf<typeof questions.ReviewAnswer>;
export type KeepReason = WordsOf<typeof consolidating.KeepReason>;
export type TidyPhase = WordsOf<typeof tidying.TidyPhase>;
export type GroupBy = WordsOf<typeof cleanup.GroupBy>;
export type Measure = WordsOf<typeof cleanup.Measure>;
export type ReembedPhase = WordsOf<typeof reembedding.ReembedPhase>;

/** The word type of an enum of the contract. */
export type WordOf<T> = T extends types.Kind
  ? Kind
  : T extends types.StateKind
    ? StateKind
    : T extends types.Source
      ? Source
    : T extends types.Status
      ? Status
      : T extends types.LinkType
        ? LinkType
        : T extends types.Operator
          ? Operator
          : T extends types.Method
            ? Method
            : T extends types.Verdict
              ? Verdict
              : T extends types.Finding
                ? Finding
                : T extends types.Action
                  ? Action
                  : T extends types.Tokenizer
                    ? Tokenizer
                    : T extends types.Preset
                      ? Preset
                      : WordOfCall<T>;

type WordOfCall<T> = T extends memory.RecallMode
  ? RecallMode
  : T extends memory.DiversityEffect
    ? DiversityEffect
    : T extends operations.UndoConflictKind
      ? UndoConflictKind
      : T extends operations.ChangeType
        ? ChangeType
        : T extends questions.Answer
          ? Answer
        : T extends questions.QuestionKind
          ? QuestionKind
        : T extends questions.ReviewAnswer
          ? ReviewAnswer
          : T extends consolidating.KeepReason
            ? KeepReason
            : T extends tidying.TidyPhase
              ? TidyPhase
              : T extends cleanup.GroupBy
                ? GroupBy
                : T extends cleanup.Measure
                  ? Measure
                  : T extends reembedding.ReembedPhase
                    ? ReembedPhase
                    : string;
