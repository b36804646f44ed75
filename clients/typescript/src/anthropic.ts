/** Anthropic's memory tool (`memory_20250818`) on a collection: its files are memories. */

import type { Totonoe } from "./client.js";
import { TotonoeError } from "./errors.js";
import { MemoryToolError } from "./memory-tool/errors.js";
import { Files } from "./memory-tool/files.js";
import { said } from "./memory-tool/notes.js";

export { MemoryToolError };

/** What a model asks of the tool. */
export type MemoryCommand =
  | { command: "view"; path: string; view_range?: number[] | null | undefined }
  | { command: "create"; path: string; file_text: string }
  | { command: "str_replace"; path: string; old_str: string; new_str: string }
  | { command: "insert"; path: string; insert_line: number; insert_text: string }
  | { command: "delete"; path: string }
  | { command: "rename"; old_path: string; new_path: string };

/** How the tool is made. */
export interface MemoryToolOptions {
  /** Where the files are. Default: the client's collection. */
  collection?: string | undefined;
  /** New files, and their lines, are visible to the client's agent only. Default: all agents see them. */
  private?: boolean | undefined;
  /** Save bullets and paragraphs of files as memories of their own, through the guard. Default: yes. */
  notes?: boolean | undefined;
  /** A cache breakpoint at the tool's definition. */
  cacheControl?: { type: "ephemeral"; ttl?: "5m" | "1h" } | undefined;
}

/** The tool for `toolRunner` of `@anthropic-ai/sdk`; `execute` is for `@ai-sdk/anthropic`. */
export interface MemoryTool {
  readonly type: "memory_20250818";
  readonly name: "memory";
  readonly cache_control?: { type: "ephemeral"; ttl?: "5m" | "1h" };
  /** Carries a command out. Rejects with `MemoryToolError`, whose message the model reads. */
  execute(command: object, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>;
  /** What `toolRunner` calls first: the command, which `run` checks. */
  parse(input: unknown): MemoryCommand;
  /** The same as `execute`, as `toolRunner` calls it. */
  run(command: object, context?: { signal?: AbortSignal | null | undefined }): Promise<string>;
  /** Forgets all files and directories, and the lines that only they hold. */
  clearAllMemory(options?: { abortSignal?: AbortSignal | undefined }): Promise<string>;
}

const OPTIONS = ["collection", "private", "notes", "cacheControl"];
const TEXT = "text";
const WHOLE = "a whole number";
const RANGE = "two whole numbers, or none";
const FIELDS: Readonly<Record<MemoryCommand["command"], Readonly<Record<string, string>>>> = {
  view: { path: TEXT, view_range: RANGE },
  create: { path: TEXT, file_text: TEXT },
  str_replace: { path: TEXT, old_str: TEXT, new_str: TEXT },
  insert: { path: TEXT, insert_line: WHOLE, insert_text: TEXT },
  delete: { path: TEXT },
  rename: { old_path: TEXT, new_path: TEXT },
};

/**
 * Anthropic's memory tool; its files are memories of a collection. It answers with the strings of the
 * Python SDK's `BetaLocalFilesystemMemoryTool`. What the guard finds in new lines follows as a Note.
 *
 * @throws TypeError for an option that it does not have.
 */
export function memoryTool(client: Totonoe, options: MemoryToolOptions = {}): MemoryTool {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) throw new TypeError(`${name}: no such option, allowed: ${OPTIONS.join(", ")}`);
  }
  const { collection, private: isPrivate = false, notes = true, cacheControl } = options;
  const files = (signal?: AbortSignal | null) =>
    new Files(client, { collection, signal: signal ?? undefined }, isPrivate, notes);
  const execute: MemoryTool["execute"] = (command, { abortSignal } = {}) =>
    asToolError(async () => carriedOut(files(abortSignal), checked(command)));
  return {
    type: "memory_20250818",
    name: "memory",
    ...(cacheControl === undefined ? {} : { cache_control: cacheControl }),
    execute,
    parse: (input) => input as MemoryCommand,
    run: (command, { signal } = {}) => execute(command, { abortSignal: signal ?? undefined }),
    clearAllMemory: ({ abortSignal } = {}) => asToolError(() => files(abortSignal).clearAllMemory()),
  };
}

function carriedOut(files: Files, command: MemoryCommand): Promise<string> {
  switch (command.command) {
    case "view":
      return files.view(command.path, command.view_range);
    case "create":
      return files.create(command.path, command.file_text);
    case "str_replace":
      return files.strReplace(command.path, command.old_str, command.new_str);
    case "insert":
      return files.insert(command.path, command.insert_line, command.insert_text);
    case "delete":
      return files.delete(command.path);
    case "rename":
      return files.rename(command.old_path, command.new_path);
  }
}

/** A command whose fields have their types. Throws `MemoryToolError` that names one and what is allowed. */
function checked(input: unknown): MemoryCommand {
  const given = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  const name = given["command"];
  if (typeof name !== "string" || !Object.hasOwn(FIELDS, name)) {
    const got = typeof name === "string" ? name : JSON.stringify(name);
    throw new MemoryToolError(`Unknown command: ${got}. Allowed: ${Object.keys(FIELDS).join(", ")}.`);
  }
  for (const [field, allowed] of Object.entries(FIELDS[name as MemoryCommand["command"]])) {
    const value = given[field];
    if (fits(value, allowed)) continue;
    const got = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    throw new MemoryToolError(`Invalid \`${field}\` parameter: got ${got}; allowed: ${allowed}.`);
  }
  return given as MemoryCommand;
}

function fits(value: unknown, allowed: string): boolean {
  if (allowed === TEXT) return typeof value === "string";
  if (allowed === WHOLE) return Number.isSafeInteger(value);
  return value === undefined || value === null || (Array.isArray(value) && value.every(Number.isSafeInteger));
}

/** What some steps answer. A failed call that they do not handle rejects with `MemoryToolError`. */
async function asToolError(steps: () => Promise<string>): Promise<string> {
  try {
    return await steps();
  } catch (error) {
    if (!(error instanceof TotonoeError)) throw error;
    throw new MemoryToolError(`The memory did not take the command: ${said(error)}`, { cause: error });
  }
}
