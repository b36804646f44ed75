/** Texts and answers of the memory tool as pure functions; the words are those of Anthropic's SDK. */

import { MemoryToolError } from "./errors.js";
import { byCharacters } from "./order.js";

const NUMBER_WIDTH = 6;
const CONTEXT_LINES = 2;
const LEVELS = 2;
/** Size that a listing shows of a directory: that of the ext4 file system. */
const DIRECTORY_BYTES = 4096;

/** The answer to a view of a file; lines are counted from 1, -1 is the last. */
export function viewed(path: string, text: string, range: readonly number[] | null | undefined): string {
  const lines = text.split("\n");
  const [from, last] = range?.length === 2 ? (range as [number, number]) : [1, -1];
  const first = Math.max(1, from);
  const shown = lines.slice(first - 1, last === -1 ? lines.length : last);
  return `Here's the content of ${path} with line numbers:\n${numbered(shown, first)}`;
}

function numbered(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${String(first + index).padStart(NUMBER_WIDTH)}\t${line}`).join("\n");
}

/** A text with its one occurrence of `old` replaced, and the answer. */
export function replaced(path: string, text: string, old: string, put: string): [string, string] {
  const places = placesOf(text, old);
  if (places.length === 0) {
    throw new MemoryToolError(
      `No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`,
    );
  }
  // Occurrences that overlap are one; of several, the lines of all are named.
  if (places.some((place) => place >= (places[0] as number) + Math.max(1, old.length))) {
    const lines = places.map((place) => lineBreaks(text.slice(0, place)) + 1).join(", ");
    throw new MemoryToolError(
      `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines}.` +
        " Please ensure it is unique",
    );
  }
  const place = places[0] as number;
  const after = text.slice(0, place) + put + text.slice(place + old.length);
  const changed = lineBreaks(text.slice(0, place));
  const begin = Math.max(0, changed - CONTEXT_LINES);
  const snippet = numbered(after.split("\n").slice(begin, changed + CONTEXT_LINES + 1), begin + 1);
  return [
    after,
    `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`,
  ];
}

/** Where a part begins in a text; occurrences may overlap. */
function placesOf(text: string, part: string): number[] {
  // Half a character is in no text.
  if (!part.isWellFormed()) return [];
  const places: number[] = [];
  if (part === "") {
    // Nothing is before each character, and at the end.
    let place = 0;
    for (const character of text) {
      places.push(place);
      place += character.length;
    }
    return [...places, place];
  }
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}

function lineBreaks(text: string): number {
  return text.split("\n").length - 1;
}

/** A text with lines inserted after a line; 0: before the first. */
export function inserted(text: string, line: number, put: string): string {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  if (line < 0 || line > lines.length) {
    throw new MemoryToolError(
      `Invalid \`insert_line\` parameter: ${line}. It should be within the range [0, ${lines.length}].`,
    );
  }
  lines.splice(line, 0, put.replace(/\n+$/, ""));
  const made = lines.join("\n");
  return made.endsWith("\n") ? made : `${made}\n`;
}

/**
 * The answer to a view of a directory.
 *
 * @param path As the caller wrote it.
 * @param sizes Bytes of what is below it by relative path; `undefined` for a directory.
 */
export function listed(path: string, sizes: ReadonlyMap<string, number | undefined>): string {
  const everything = new Map(sizes);
  for (const name of sizes.keys()) {
    const parts = name.split("/");
    for (let depth = 1; depth < parts.length; depth += 1) {
      const above = parts.slice(0, depth).join("/");
      if (!everything.has(above)) everything.set(above, undefined);
    }
  }
  const lines = [`${sizeText(DIRECTORY_BYTES)}\t${path}`];
  for (const name of [...everything.keys()].sort(byParts)) {
    const parts = name.split("/");
    if (parts.length > LEVELS || parts.some((part) => part.startsWith("."))) continue;
    const size = everything.get(name);
    lines.push(`${sizeText(size ?? DIRECTORY_BYTES)}\t${path}/${name}${size === undefined ? "/" : ""}`);
  }
  return (
    `Here're the files and directories up to ${LEVELS} levels deep in ${path}, excluding hidden items:\n` +
    lines.join("\n")
  );
}

/** The order of two paths, name by name. */
function byParts(one: string, other: string): number {
  const [parts, others] = [one.split("/"), other.split("/")];
  for (const [index, part] of parts.entries()) {
    const facing = others[index];
    if (facing === undefined) return 1;
    const order = byCharacters(part, facing);
    if (order !== 0) return order;
  }
  return parts.length - others.length;
}

/** A number of bytes with its unit: 0B, 512B, 1.5K. */
export function sizeText(size: number): string {
  let unit = 0;
  while (unit < 3 && size >= 1024 ** (unit + 1)) unit += 1;
  const share = size / 1024 ** unit;
  return `${Number.isInteger(share) ? share : oneDigit(share)}${"BKMG"[unit]}`;
}

/** One digit after the point, a tie to the even one, as Python does; `toFixed` has the larger one. */
function oneDigit(share: number): string {
  const tenths = share * 10;
  const below = Math.floor(tenths);
  const isTie = tenths - below === 0.5;
  return ((isTie ? below + (below % 2) : Math.round(tenths)) / 10).toFixed(1);
}
