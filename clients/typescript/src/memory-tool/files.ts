/**
 * Files and directories of the memory tool: each is one memory of category `file`.
 *
 * A file's memory has the external id `file:` and the path, and the file as its text. A directory's
 * has `{"directory": true}` in its payload. A text with no visible character, which no memory may
 * have, stands in the payload.
 */

import type { Totonoe } from "../client.js";
import { ExternalIdExists, InvalidArgument, NotActive, NotFound, StaleRevision, TotonoeError } from "../errors.js";
import type { CallOptions, Changes, Link, Memory, Updated } from "../models.js";
import { inserted, listed, replaced, viewed } from "./editing.js";
import { MemoryToolError } from "./errors.js";
import { Notes, said, unlessGone } from "./notes.js";
import * as paths from "./paths.js";

const CATEGORY = "file";
/** A file is one memory, so that each edit is one operation: undone as one, lost never. */
export const FILE_BYTES_MAX: number = 32 * 1024;
/** Files and directories that a listing, or a rename of a directory, reads. */
export const ENTRIES_MAX = 4_000;
/** How often an edit is tried on a file that others change at the same time. */
export const ATTEMPTS_MAX = 32;
/** How often `clearAllMemory` looks for files that are left. */
export const CLEARINGS_MAX = 64;
export const FORGET_IDS_MAX = 1_000;
const PAGE = 100;
const REASON_CHARS_MAX = 256;
const EMPTY = "(no visible text)";
const DIRECTORY = "(directory)";

/** A file, or a directory if `text` is `undefined`; `revision` is that of its memory. */
interface Entry {
  id: string;
  path: string;
  text: string | undefined;
  revision: number;
  links: readonly Link[];
}

const TOP: Entry = { id: "", path: paths.ROOT, text: undefined, revision: 0, links: [] };

function entryOf({ id, externalId, content, payload, revision, links }: Memory): Entry {
  const text = payload?.["directory"] ? undefined : String(payload?.["text"] ?? content);
  return { id, path: paths.pathOf(externalId), text, revision, links };
}

/** The commands of the tool. Each gives the answer, or rejects with `MemoryToolError`. */
export class Files {
  readonly #client: Totonoe;
  readonly #call: CallOptions;
  readonly #isPrivate: boolean;
  readonly #notes: Notes | undefined;

  /** `call`: collection and signal of every call. `hasNotes`: statements of files become memories too. */
  constructor(client: Totonoe, call: CallOptions, isPrivate: boolean, hasNotes: boolean) {
    this.#client = client;
    this.#call = call;
    this.#isPrivate = isPrivate;
    this.#notes = hasNotes ? new Notes(client, call, isPrivate) : undefined;
  }

  // -- commands

  /** Shows a file, or the files and directories up to two levels below a directory. */
  async view(path: string, range?: readonly number[] | null): Promise<string> {
    const where = paths.resolved(path);
    const entry = await this.#entry(where);
    if (entry?.text !== undefined) return viewed(path, entry.text, range);
    const below = await this.#below(where);
    if (entry === undefined && below.length === 0) {
      throw new MemoryToolError(`The path ${path} does not exist. Please provide a valid path.`);
    }
    const sizes = below.map((one): [string, number | undefined] => [
      one.path.slice(where.length + 1),
      one.text === undefined ? undefined : Buffer.byteLength(one.text),
    ]);
    return listed(path, new Map(sizes));
  }

  /** Makes a file, and the directories above it. */
  async create(path: string, text: string): Promise<string> {
    const where = paths.resolved(path);
    checkSize(path, text);
    checkDirectory(await this.#makeDirectories(paths.parents(where)));
    if (where === paths.ROOT) throw new MemoryToolError(`File ${path} already exists`);
    try {
      const saved = await this.#written(text, (content, payload) =>
        this.#client.remember(content, { ...this.#labels(where), ...(payload === null ? {} : { payload }) }),
      );
      const entry = { id: saved.memoryId, path: where, text, revision: saved.revision, links: [] };
      return `File created successfully at: ${path}${await this.#noted(entry, "")}`;
    } catch (error) {
      if (error instanceof ExternalIdExists) throw new MemoryToolError(`File ${path} already exists`, { cause: error });
      throw error;
    }
  }

  /** Replaces the one occurrence of a text in a file. */
  async strReplace(path: string, old: string, put: string): Promise<string> {
    return this.#edited(path, (text) => replaced(path, text, old, put));
  }

  /** Inserts lines after a line of a file; 0: before the first. */
  async insert(path: string, line: number, put: string): Promise<string> {
    return this.#edited(path, (text) => [inserted(text, line, put), `The file ${path} has been edited.`]);
  }

  /** Forgets a file, or a directory with all below it. */
  async delete(path: string): Promise<string> {
    const where = paths.resolved(path);
    if (where === paths.ROOT) throw new MemoryToolError(`Cannot delete the ${paths.ROOT} directory itself`);
    const going = await this.#whole(where);
    if (going.length === 0) throw new MemoryToolError(`The path ${path} does not exist`);
    await this.#forget(going, `deleted ${where}`);
    return `Successfully deleted ${path}`;
  }

  /** Moves a file, or a directory with all below it; all or nothing. */
  async rename(oldPath: string, newPath: string): Promise<string> {
    const from = paths.resolved(oldPath);
    const to = paths.resolved(newPath);
    if (from === paths.ROOT) throw new MemoryToolError(`Cannot rename the ${paths.ROOT} directory itself`);
    if ((await this.#entry(to)) !== undefined) throw new MemoryToolError(`The destination ${newPath} already exists`);
    if (paths.isBelow(to, from)) throw new MemoryToolError(`Cannot move ${oldPath} into itself: ${newPath}`);
    // Before the look at the old path, as in the SDK, whose directories stay too.
    const file = await this.#makeDirectories(paths.parents(to));
    const going = await this.#whole(from);
    if (going.length === 0) throw new MemoryToolError(`The path ${oldPath} does not exist`);
    checkDirectory(file);
    const target = new Map(going.map((one) => [one.id, to + one.path.slice(from.length)]));
    for (const moved of target.values()) paths.resolved(moved);
    await this.#move(target, `renamed ${from} to ${to}`, newPath);
    return `Successfully renamed ${oldPath} to ${newPath}`;
  }

  /** Forgets all files and directories. */
  async clearAllMemory(): Promise<string> {
    for (let count = 0; count < CLEARINGS_MAX; count += 1) {
      const going = await this.#below(paths.ROOT, true);
      if (going.length === 0) return "All memory cleared";
      await this.#forget(going, "cleared all memory");
    }
    throw new MemoryToolError(`Files are left below ${paths.ROOT}: others make new ones. Try again.`);
  }

  // -- steps of several commands

  #labels(path: string): object {
    const own = { category: CATEGORY, private: this.#isPrivate, linksMax: 0 };
    return { ...this.#call, ...own, externalId: paths.externalId(path) };
  }

  /** What is at a path; `undefined` for nothing. */
  async #entry(path: string): Promise<Entry | undefined> {
    return path === paths.ROOT ? TOP : (await this.#entriesAt([path])).get(path);
  }

  /** What is at some paths, by path; what is absent is left out. */
  async #entriesAt(wanted: readonly string[]): Promise<Map<string, Entry>> {
    if (wanted.length === 0) return new Map();
    const ids = wanted.map((path) => `ext:${paths.externalId(path)}`);
    try {
      const { memories } = await this.#client.getMany(ids, this.#call);
      return new Map(entriesOf(memories).map((entry) => [entry.path, entry]));
    } catch (error) {
      if (error instanceof NotFound && error.reason === "MEMORY_NOT_FOUND") return new Map();
      throw error;
    }
  }

  /** What is at a path, and all below it if that is a directory. */
  async #whole(path: string): Promise<Entry[]> {
    const entry = await this.#entry(path);
    if (entry?.text !== undefined) return [entry];
    const below = await this.#below(path);
    return entry === undefined ? below : [entry, ...below];
  }

  /** All files and directories below a directory, or `some` of them if they are too many. */
  async #below(directory: string, some = false): Promise<Entry[]> {
    const found: Entry[] = [];
    let pageToken = "";
    do {
      const options = { ...this.#call, filter: { categories: [CATEGORY] }, pageSize: PAGE, pageToken };
      const page = await this.#client.list(options);
      found.push(...entriesOf(page.memories).filter((one) => paths.isBelow(one.path, directory)));
      if (found.length > ENTRIES_MAX) {
        if (some) return found;
        throw new MemoryToolError(
          `More than ${ENTRIES_MAX} files and directories are below ${directory}. Name one of its directories.`,
        );
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return found;
  }

  /**
   * Makes the directories that are missing, given the nearest first. Gives the nearest if it is a
   * file: then nothing is missing, and nothing fits below it.
   */
  async #makeDirectories(wanted: readonly string[]): Promise<string> {
    const found = await this.#entriesAt(wanted);
    const missing: string[] = [];
    for (const path of wanted) {
      const entry = found.get(path);
      if (entry === undefined) {
        missing.push(path);
        continue;
      }
      if (entry.text === undefined) break;
      if (missing.length === 0) return path;
      checkDirectory(path);
    }
    for (const path of missing.reverse()) {
      try {
        await this.#client.remember(DIRECTORY, { ...this.#labels(path), payload: { directory: true } });
      } catch (error) {
        if (!(error instanceof ExternalIdExists)) throw error;
        // Somebody else made it, or a file of the name, just now.
        if ((await this.#entry(path))?.text !== undefined) return path;
      }
    }
    return "";
  }

  /** Writes a text by a call that takes content and payload; one without visible text in the payload. */
  async #written<T>(text: string, call: (content: string, payload: { text: string } | null) => Promise<T>): Promise<T> {
    try {
      return await call(text, null);
    } catch (error) {
      if (!(error instanceof InvalidArgument) || error.reason !== "EMPTY_TEXT") throw error;
      return call(EMPTY, { text });
    }
  }

  /**
   * Changes the text of a file as it is now. If somebody changes it meanwhile, it is read and changed
   * again: no edit is lost.
   */
  async #edited(path: string, edit: (text: string) => [string, string]): Promise<string> {
    const where = paths.resolved(path);
    for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
      const entry = await this.#entry(where);
      if (entry === undefined) {
        throw new MemoryToolError(`The path ${path} does not exist. Please provide a valid path.`);
      }
      if (entry.text === undefined) throw new MemoryToolError(`The path ${path} is not a file.`);
      const [text, answer] = edit(entry.text);
      if (text === entry.text) return answer;
      checkSize(path, text);
      const updated = await this.#update(entry, text);
      if (updated?.memory === undefined) continue;
      return answer + (await this.#noted(entryOf(updated.memory), entry.text));
    }
    throw new MemoryToolError(`The file ${path} was changed by others ${ATTEMPTS_MAX} times meanwhile. Try again.`);
  }

  /** Writes a file that is as it was read; `undefined`: it was changed meanwhile. */
  async #update(entry: Entry, text: string): Promise<Updated | undefined> {
    const options = { ...this.#call, expectedRevision: entry.revision };
    try {
      return await this.#written(text, (content, payload) => {
        const changes: Changes = { content, payload };
        return this.#client.update(entry.id, changes, options);
      });
    } catch (error) {
      if (error instanceof StaleRevision || error instanceof NotActive) return undefined;
      throw error;
    }
  }

  /** Keeps the statements of a file that was written, and gives the Note for the answer. */
  async #noted(entry: Entry, before: string): Promise<string> {
    if (this.#notes === undefined || entry.text === undefined) return "";
    let note: string;
    try {
      note = await this.#notes.follow(entry.id, entry.text, before, entry.links);
    } catch (error) {
      if (!(error instanceof TotonoeError)) throw error;
      note = `the lines of the file were not compared with the memory: ${said(error)}`;
    }
    return note === "" ? "" : `\n\nNote: ${note}`;
  }

  /** Forgets entries and the statements that only they hold; one operation if it can be. */
  async #forget(going: readonly Entry[], reason: string): Promise<void> {
    const ids = going.map((one) => one.id);
    ids.push(...((await this.#notes?.onlyOf([...ids], going.map((one) => one.links))) ?? []));
    for (let at = 0; at < ids.length; at += FORGET_IDS_MAX) {
      // Somebody else may have forgotten them just now.
      await unlessGone(this.#client.forget(ids.slice(at, at + FORGET_IDS_MAX), { ...this.#call, reason }));
    }
  }

  /** Gives entries new paths by id. If one fails, those before it are taken back. */
  async #move(target: ReadonlyMap<string, string>, reason: string, newPath: string): Promise<void> {
    const done: string[] = [];
    try {
      for (const [id, path] of target) {
        const changes = { externalId: paths.externalId(path) };
        done.push((await this.#client.update(id, changes, { ...this.#call, reason })).operationId);
      }
    } catch (error) {
      const { collection } = this.#call;
      // An aborted command is taken back too, so that its signal is not asked.
      for (const operationId of done.reverse()) {
        await this.#client.undo(operationId, { collection, reason: `failed: ${reason}`.slice(0, REASON_CHARS_MAX) });
      }
      if (error instanceof ExternalIdExists) {
        throw new MemoryToolError(`The destination ${newPath} already exists`, { cause: error });
      }
      throw error;
    }
  }
}

/** The live files and directories among memories. */
function entriesOf(memories: readonly Memory[]): Entry[] {
  const top = paths.externalId(paths.ROOT);
  return memories.filter((one) => one.status === "active" && paths.isBelow(one.externalId, top)).map(entryOf);
}

function checkDirectory(file: string): void {
  if (file !== "") throw new MemoryToolError(`The path ${file} is a file, not a directory.`);
}

function checkSize(path: string, text: string): void {
  paths.checkText(text, `The text of ${path}`);
  const size = Buffer.byteLength(text);
  if (size <= FILE_BYTES_MAX) return;
  throw new MemoryToolError(
    `The file ${path} would have ${size} bytes; allowed: at most ${FILE_BYTES_MAX}.` +
      " Nothing was changed. Split it into several files.",
  );
}
