/**
 * Statements of files as memories: saved through the guard, linked to their file, and compared.
 *
 * A link from a file to a memory carries the keys of the file's statements that the memory says. So
 * the links alone say what was saved, and each write of the file brings them up to date, whatever
 * happened before. A memory that a file saved has the tag `TAG`. Others are linked, and never
 * forgotten here. Tools in Python and in TypeScript keep the same links.
 */

import type { Totonoe } from "../client.js";
import { NotFound, TotonoeError } from "../errors.js";
import type { CallOptions, ItemResult, Link, Memory, Remembered } from "../models.js";
import { statements, type Statement } from "./lines.js";
import { byCharacters } from "./order.js";
import { pathOf } from "./paths.js";

const TAG = "file line";
const PREFIX = "lines of the file: ";
export const KEYS_PER_LINK_MAX = 64;
/** Findings that one Note names; more are counted. */
export const SHOWN_MAX = 3;
const READ_AT_ONCE = 256;

/** Keys of a file's statements, by the id of the memory that says them. */
type Keys = Map<string, Set<string>>;
/** Where memories are said: by id the lines by path, the path empty for the file itself. */
type Places = Map<string, Map<string, number[]>>;
/** A line, and what was found in it. */
type Found = [number, string];

/** What the guard said of a statement and another memory, in the words of a Note. */
interface Said {
  verb: string;
  memoryId: string;
  snippet: string;
  detail: string;
}

/** The keys that a link between a file and a memory carries; empty for another link. */
function keysOf(link: Link): Set<string> {
  if (!link.note.startsWith(PREFIX)) return new Set();
  return new Set(link.note.slice(PREFIX.length).split(" ").filter(Boolean));
}

/** Keeps the statements of files as memories. */
export class Notes {
  readonly #client: Totonoe;
  readonly #call: CallOptions;
  readonly #isPrivate: boolean;

  constructor(client: Totonoe, call: CallOptions, isPrivate: boolean) {
    this.#client = client;
    this.#call = call;
    this.#isPrivate = isPrivate;
  }

  /**
   * Saves the new statements of a file, forgets those that are gone, and gives what was found.
   *
   * @param text The file now; `before`: until now. Only what is new is found.
   * @param links Links of the file's memory.
   */
  async follow(fileId: string, text: string, before: string, links: readonly Link[]): Promise<string> {
    const now = statements(text);
    const wanted = new Map<string, Statement>();
    for (const one of now) if (!wanted.has(one.key)) wanted.set(one.key, one);
    const linked = heldBy(links);
    await this.#letGo(fileId, linked, wanted);
    const held: Keys = new Map();
    for (const [id, keys] of linked) {
      const left = [...keys].filter((key) => wanted.has(key));
      if (left.length > 0) held.set(id, new Set(left));
    }
    const known = new Set([...held.values()].flatMap((keys) => [...keys]));
    const fresh = [...wanted.values()].filter((one) => !known.has(one.key));
    const results = await this.#save(fresh);
    const failed = results.flatMap((one) => one.error ?? []);
    const answered = fresh.flatMap((statement, index): [Statement, Remembered][] => {
      const answer = results[index]?.remembered;
      return answer === undefined ? [] : [[statement, answer]];
    });
    const saved = answered.filter(([, answer]) => answer.saved || answer.duplicate !== undefined);
    failed.push(...(await this.#link(fileId, held, saved)));
    const found = [...repeated(now, before), ...forgotten(answered)];
    found.push(...(await this.#findings(fileId, wanted, held, saved)));
    const [first] = failed;
    if (first !== undefined) {
      found.push([0, `lines that are not saved as memories: ${failed.length}, ${said(first)}`]);
    }
    found.sort(([line, words], [other, others]) => line - other || byCharacters(words, others));
    return sentence(found.map(([, words]) => words));
  }

  /** The ids of the statements that files saved, and that no other file says. */
  async onlyOf(fileIds: readonly string[], links: readonly (readonly Link[])[]): Promise<string[]> {
    const ids = new Set(links.flatMap((all) => [...heldBy(all).keys()]));
    const memories = await this.#memories([...ids]);
    const own = new Set(fileIds);
    return memories.filter((memory) => isLeft(memory, own)).map((memory) => memory.id);
  }

  /** Forgets or unlinks the memories of statements that a file no longer has. */
  async #letGo(fileId: string, held: Keys, wanted: ReadonlyMap<string, Statement>): Promise<void> {
    const gone = [...held].filter(([, keys]) => ![...keys].some((key) => wanted.has(key))).map(([id]) => id);
    const memories = await this.#memories(gone);
    const left = memories.filter((memory) => isLeft(memory, new Set([fileId]))).map((memory) => memory.id);
    if (left.length > 0) {
      // Somebody else may have forgotten it just now.
      await unlessGone(this.#client.forget(left, { ...this.#call, reason: "gone from its file" }));
    }
    for (const id of gone.filter((one) => !left.includes(one))) {
      await unlessGone(this.#client.unlink(fileId, id, { ...this.#call, type: "related" }));
    }
  }

  async #save(fresh: readonly Statement[]): Promise<ItemResult[]> {
    const results: ItemResult[] = [];
    if (fresh.length === 0) return results;
    const items = fresh.map((one) => ({ content: one.text, tags: [TAG], private: this.#isPrivate }));
    for await (const result of this.#client.rememberMany(items, this.#call)) results.push(result);
    return results;
  }

  /** Links the memories that say the new statements, and adds them to `held`. Gives the failures. */
  async #link(fileId: string, held: Keys, saved: readonly [Statement, Remembered][]): Promise<TotonoeError[]> {
    const changed = new Set<string>();
    for (const [statement, { memoryId }] of saved) {
      const keys = held.get(memoryId) ?? new Set();
      held.set(memoryId, keys);
      if (keys.size >= KEYS_PER_LINK_MAX) continue;
      keys.add(statement.key);
      changed.add(memoryId);
    }
    const failed: TotonoeError[] = [];
    for (const id of changed) {
      const note = PREFIX + [...(held.get(id) ?? [])].sort().join(" ");
      try {
        await this.#client.link(fileId, id, { ...this.#call, type: "related", confidence: 1, note });
      } catch (error) {
        if (!(error instanceof TotonoeError)) throw error;
        failed.push(error);
      }
    }
    return failed;
  }

  // -- what the guard found

  async #findings(
    fileId: string,
    wanted: ReadonlyMap<string, Statement>,
    held: Keys,
    saved: readonly [Statement, Remembered][],
  ): Promise<Found[]> {
    const found = saved.flatMap(([statement, answer]): [Statement, Said][] => {
      const said = saidOf(answer);
      return said === undefined ? [] : [[statement, said]];
    });
    const others = [...new Set(found.map(([, one]) => one.memoryId))];
    const places = await this.#places(fileId, wanted, held, others);
    return found.map(([statement, one]) => {
      const place = placeOf(places.get(one.memoryId) ?? new Map(), statement, one);
      return [statement.line, `line ${statement.line} ${one.verb} ${place}${one.detail}`];
    });
  }

  async #places(
    fileId: string,
    wanted: ReadonlyMap<string, Statement>,
    held: Keys,
    ids: readonly string[],
  ): Promise<Places> {
    const places: Places = new Map();
    for (const id of ids) {
      const keys = held.get(id);
      if (keys === undefined) continue;
      const lines = [...keys].map((key) => wanted.get(key)?.line ?? 0).sort((a, b) => a - b);
      places.set(id, new Map([["", lines]]));
    }
    const saidBy = new Map<string, [string, Set<string>][]>();
    for (const memory of await this.#memories(ids)) {
      for (const link of memory.links) {
        const keys = keysOf(link);
        if (keys.size === 0 || link.targetId === fileId) continue;
        saidBy.set(link.targetId, [...(saidBy.get(link.targetId) ?? []), [memory.id, keys]]);
      }
    }
    for (const file of await this.#memories([...saidBy.keys()])) {
      const all = statements(file.content);
      for (const [id, keys] of saidBy.get(file.id) ?? []) {
        const lines = all.filter((one) => keys.has(one.key)).map((one) => one.line);
        if (lines.length === 0) continue;
        places.set(id, (places.get(id) ?? new Map<string, number[]>()).set(pathOf(file.externalId), lines));
      }
    }
    return places;
  }

  /** The live memories of ids. */
  async #memories(ids: readonly string[]): Promise<Memory[]> {
    const found: Memory[] = [];
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const read = await unlessGone(this.#client.getMany(ids.slice(at, at + READ_AT_ONCE), this.#call));
      found.push(...(read?.memories ?? []).filter((memory) => memory.status === "active"));
    }
    return found;
  }
}

/** What a call answers; `undefined` if what it is about is gone. */
export async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}

/** An error in one line, with its reason. */
export function said(error: TotonoeError): string {
  return `${error.message} (${error.reason || error.code})`;
}

/** The keys that links of a file carry, by the memory that says them. */
function heldBy(links: readonly Link[]): Keys {
  return new Map(links.map((link): [string, Set<string>] => [link.targetId, keysOf(link)]).filter(([, keys]) => keys.size > 0));
}

/** Whether a file saved a memory, and no file but these says it. */
function isLeft(memory: Memory, files: ReadonlySet<string>): boolean {
  return memory.tags.includes(TAG) && memory.links.every((link) => keysOf(link).size === 0 || files.has(link.targetId));
}

/** The last lines that say word for word what an earlier line of the file says. */
function repeated(now: readonly Statement[], before: string): Found[] {
  const counted = counts(statements(before));
  const lines = new Map<string, { first: number; last: number }>();
  for (const { key, line } of now) lines.set(key, { first: lines.get(key)?.first ?? line, last: line });
  return [...counts(now)]
    .filter(([key, count]) => count > 1 && count > (counted.get(key) ?? 0))
    .map(([key]) => {
      const { first, last } = lines.get(key) as { first: number; last: number };
      return [last, `line ${last} says the same as line ${first}`];
    });
}

function counts(all: readonly Statement[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const { key } of all) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

/** The lines that a collection refuses because they were forgotten. */
function forgotten(answered: readonly [Statement, Remembered][]): Found[] {
  return answered.flatMap(([{ line }, answer]): Found[] =>
    answer.saved || answer.duplicate !== undefined || answer.forgotten === undefined
      ? []
      : [[line, `line ${line} is not saved as a memory: it was forgotten ${answer.forgotten.age}`]],
  );
}

/** What the guard said of a statement; `undefined` for nothing. */
function saidOf({ duplicate, similar, question }: Remembered): Said | undefined {
  if (duplicate !== undefined) return { verb: "says the same as", ...named(duplicate), detail: "" };
  for (const one of similar) {
    const verdict = one.judgement?.verdict;
    if (verdict !== "update" && verdict !== "contradiction") continue;
    const differs = one.judgement?.evidence.find(({ ownText, otherText }) => ownText !== "" && otherText !== "");
    const detail = differs === undefined ? "" : `: ${differs.otherText} -> ${differs.ownText}`;
    return { verb: "differs from", ...named(one), detail };
  }
  if (question !== undefined) return { verb: "may say the same as", ...named(question), detail: "" };
  return undefined;
}

function named({ memoryId, snippet }: { memoryId: string; snippet: string }): { memoryId: string; snippet: string } {
  return { memoryId, snippet };
}

/** Where a memory is said: another line of this file, else of another, else its id. */
function placeOf(places: ReadonlyMap<string, number[]>, statement: Statement, one: Said): string {
  for (const [path, lines] of [...places].sort(([a], [b]) => byCharacters(a, b))) {
    const line = lines.find((line) => path !== "" || line !== statement.line);
    if (line !== undefined) return `line ${line}${path === "" ? "" : ` of ${path}`}`;
  }
  return `the memory ${one.memoryId} ("${one.snippet}")`;
}

/** Findings as the sentence of a Note. */
function sentence(found: readonly string[]): string {
  if (found.length === 0) return "";
  const more = found.length > SHOWN_MAX ? `; and ${found.length - SHOWN_MAX} more` : "";
  return `${found.slice(0, SHOWN_MAX).join("; ")}${more}.`;
}
