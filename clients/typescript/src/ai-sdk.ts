/** Tools for the AI SDK: a model saves, finds, forgets, answers and takes back by itself. */

import { jsonSchema, type Tool } from "ai";
import { TOOLS } from "../gen/tools.js";
import type { Totonoe } from "./client.js";
import { TotonoeError } from "./errors.js";
import type { Answer, Duplicate, Hit, SimilarMemory } from "./models.js";
import type { Source } from "./words.js";

const RECALLED = 8;
const RELEVANCE_MIN = 0.1;

/** How the tools are made. */
export interface ToolOptions {
  /** Session of the conversation: it is noted with what is saved, and `this_session` finds it. */
  sessionId?: string | undefined;
}

export type ToolName = "remember" | "recall" | "forget" | "resolve" | "undo";
export type MemoryTools = Record<ToolName, Tool<Input, Output>>;

type Input = Record<string, unknown>;
type Output = Record<string, unknown>;
type Execute = (input: Input, signal: AbortSignal | undefined) => Promise<Output>;

/**
 * The tools `remember`, `recall`, `forget`, `resolve` and `undo`, for `generateText` and its kin.
 * Descriptions and schemas are those of `totonoe mcp`. No tool takes an agent or a collection: a
 * model cannot borrow one. `undo` takes back operations of the client's agent only.
 */
export function totonoeTools(client: Totonoe, options: ToolOptions = {}): MemoryTools {
  const { sessionId } = options;
  return {
    remember: made("remember", async (input, signal) => {
      const { content, subject = "", attribute = "", supersede_ids, distinct_from, force, ...fields } = input;
      if ((subject === "") !== (attribute === "")) {
        throw new Error("subject, attribute: got one of them, allowed: both or none");
      }
      const done = await client.remember(content as string, {
        ...fields,
        ...(subject === "" ? {} : { key: { subject: subject as string, attribute: attribute as string } }),
        supersedeIds: supersede_ids as string[] | undefined,
        distinctFrom: distinct_from as string[] | undefined,
        force: force as boolean | undefined,
        sessionId,
        signal,
      });
      return {
        saved: done.saved,
        memory_id: done.memoryId,
        ...(done.saved ? {} : { duplicate_of: done.duplicateOf, snippet: quotedOf(done.duplicate) }),
        verdict: done.verdict,
        superseded_ids: done.supersededIds,
        maybe_replaced_ids: done.maybeReplacedIds,
        pending: done.pending || undefined,
        ...(done.question === undefined
          ? {}
          : { question_about: done.question.memoryId, question_snippet: quotedOf(done.question) }),
        ...(done.nearest === undefined ? {} : { nearest: nearestOf(done.nearest) }),
        operation_id: done.operationId,
        advice: done.advice,
      };
    }),

    recall: made("recall", async (input, signal) => {
      const { query, limit = RECALLED, min_relevance = RELEVANCE_MIN, min_source, ...conditions } = input;
      const { category, tags, since, until, this_session } = conditions;
      if (this_session === true && sessionId === undefined) {
        throw new Error("this_session: got true, allowed: with a session");
      }
      const found = await client.recall(query as string, {
        k: limit as number,
        minRelevance: min_relevance as number,
        filter: {
          categories: category ? [category as string] : undefined,
          tags: tags as string[] | undefined,
          created: { fromTime: moment(since, "since"), toTime: moment(until, "until") },
          minSource: min_source ? (min_source as Source) : undefined,
          sessionIds: this_session === true ? [sessionId as string] : undefined,
        },
        signal,
      });
      return { notes: found.hits.map(noteOf), degraded_because: found.degradedBecause };
    }),

    forget: made("forget", async ({ memory_id, reason }, signal) => {
      const done = await client.forget(memory_id as string, { reason: reason as string | undefined, signal });
      return { memory_id: done.forgotten[0]?.id, operation_id: done.operationId, advice: done.advice };
    }),

    resolve: made("resolve", async ({ memory_id, other_id, answer, reason }, signal) => {
      const options = { reason: reason as string | undefined, signal };
      const done = await client.resolve(memory_id as string, other_id as string, answer as Answer, options);
      return {
        resolved: done.resolved,
        memory_id: done.memory?.id,
        closed_id: done.closedId,
        duplicate_of: done.duplicate?.memoryId,
        lost: done.lost.map((one) => `${one.finding}: ${one.text}`),
        operation_id: done.operationId,
      };
    }),

    undo: made("undo", async ({ operation_id, revision }, signal) => {
      if (Boolean(operation_id) === Boolean(revision)) {
        throw new Error("operation_id, revision: allowed: one of them");
      }
      const target = (operation_id || revision) as string | number;
      const done = await client.undo(target, { ownOnly: true, signal });
      return {
        undone: done.undone,
        memory_ids: done.memories.map((one) => one.id),
        conflicts: done.conflicts.map((one) => one.kind),
        operation_id: done.operationId,
      };
    }),
  };
}

function made(name: ToolName, execute: Execute): Tool<Input, Output> {
  const { description, inputSchema } = TOOLS[name] as (typeof TOOLS)[string];
  const validate = (value: unknown) => {
    const fault = faultOf(inputSchema as unknown as Schema, value);
    return fault === undefined
      ? { success: true as const, value: value as Input }
      : { success: false as const, error: new TypeError(fault) };
  };
  return {
    description,
    inputSchema: jsonSchema<Input>(inputSchema, { validate }),
    execute: async (input, { abortSignal }) => {
      try {
        return await execute(input, abortSignal);
      } catch (error) {
        // The SDK shows the model nothing but the message.
        if (!(error instanceof TotonoeError) || error.advice === "") throw error;
        throw new Error(`${error.message}\n\n${error.advice}`, { cause: error });
      }
    },
  };
}

interface Schema {
  type: "string" | "boolean" | "integer" | "number" | "array" | "object";
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  enum?: string[];
}

/** What is wrong with a tool's input; `undefined`: nothing. Of JSON schema it knows what the tools use. */
function faultOf(schema: Schema, value: unknown, name = "input"): string | undefined {
  const wrong = (allowed: string) => `${name}: allowed: ${allowed}`;
  switch (schema.type) {
    case "object": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong("an object");
      const missing = schema.required?.find((one) => (value as Input)[one] === undefined);
      if (missing !== undefined) return `${missing}: is missing`;
      for (const [key, one] of Object.entries(value)) {
        const known = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties?.[key] : undefined;
        if (known === undefined) return `${key}: no such argument`;
        const fault = one === undefined ? undefined : faultOf(known, one, key);
        if (fault !== undefined) return fault;
      }
      return undefined;
    }
    case "array": {
      if (!Array.isArray(value)) return wrong("an array");
      if (value.length > (schema.maxItems ?? Number.POSITIVE_INFINITY)) return wrong(`at most ${schema.maxItems}`);
      const items = schema.items;
      return items && value.map((one) => faultOf(items, one, name)).find((fault) => fault !== undefined);
    }
    case "integer":
    case "number": {
      if (typeof value !== "number" || (schema.type === "integer" && !Number.isInteger(value))) return wrong(`a ${schema.type}`);
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
      return value < minimum || value > maximum ? wrong(`${minimum} to ${maximum}`) : undefined;
    }
    default:
      if (typeof value !== schema.type) return wrong(`a ${schema.type}`);
      return schema.enum && !schema.enum.includes(value as string) ? wrong(schema.enum.join(", ")) : undefined;
  }
}

/** The memory that may say the same, where nothing is asked: the model may answer it by `resolve`. */
function nearestOf(near: SimilarMemory): Output {
  const { memoryId, age, judgement } = near;
  return { memory_id: memoryId, snippet: quotedOf(near), age, same_probability: judgement?.sameProbability };
}

/** A line of a memory beside what to call next: only words of the user and of agents, which ask nothing of their own. */
function quotedOf(found: Duplicate | SimilarMemory | undefined): string | undefined {
  const quoted = found === undefined || found.source === "user" || found.source === "agent";
  return quoted ? found?.snippet : "(text of a tool or a stranger: get it to see it)";
}

/** A hit as a note for the model. */
function noteOf({ memory, relevance, updatedBy, contradictedBy }: Hit): Output {
  const others = (all: Hit["updatedBy"]) => all.map((one) => ({ memory_id: one.memoryId, snippet: one.snippet }));
  return {
    memory_id: memory?.id,
    content: memory?.content,
    source: memory?.source,
    category: memory?.category || undefined,
    tags: memory?.tags,
    saved: memory?.createdTime?.toISOString(),
    relevance: Math.round(relevance * 100) / 100,
    updated_by: updatedBy.length === 0 ? undefined : others(updatedBy),
    contradicted_by: contradictedBy.length === 0 ? undefined : others(contradictedBy),
  };
}

/** A time of ISO 8601; `undefined` if none is said. */
function moment(value: unknown, name: string): Date | undefined {
  if (value === undefined || value === "") return undefined;
  const found = new Date(value as string);
  if (Number.isNaN(found.getTime())) throw new Error(`${name}: allowed: a date or time like 2026-11-23T09:30:00Z`);
  return found;
}
