/** The client of totonoe, a memory that agents share. */

export { Totonoe, type Raw, type TotonoeOptions } from "./client.js";
export * from "./errors.js";
export type * from "./models.js";
export type { Proof } from "./credentials.js";
export type { RetryPolicy } from "./retry.js";
export type {
  Action,
  ChangeType,
  DiversityEffect,
  Finding,
  GroupBy,
  KeepReason,
  Kind,
  LinkType,
  Measure,
  Method,
  Operator,
  Preset,
  QuestionKind,
  RecallMode,
  ReviewAnswer,
  Source,
  StateKind,
  Status,
  TidyPhase,
  Tokenizer,
  UndoConflictKind,
  Verdict,
} from "./words.js";
