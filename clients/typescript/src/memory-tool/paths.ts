/** Paths of the memory tool: `/memories` and what is below it. */

import { MemoryToolError } from "./errors.js";

export const ROOT = "/memories";
/** Before the path, in the external id of a file or directory. */
const PREFIX = "file:";
/** An external id has at most 256 bytes. */
export const PATH_BYTES_MAX: number = 256 - PREFIX.length;

/**
 * The one form of a path: `/memories`, or `/memories/` and names with one `/` between. `.` and `..`
 * are resolved by name, and the first part needs no `/` after `/memories`.
 *
 * @throws MemoryToolError for a path that leaves `/memories`, or that cannot be stored.
 */
export function resolved(path: string): string {
  if (!path.startsWith(ROOT)) throw new MemoryToolError(`Path must start with ${ROOT}, got: ${path}`);
  const top = ROOT.slice(1);
  const names = [top];
  for (const name of path.slice(ROOT.length).split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) break;
    } else if (name !== "" && name !== ".") {
      names.push(name);
    }
  }
  if (names[0] !== top) throw new MemoryToolError(`Path ${path} would escape ${ROOT} directory`);
  const made = `/${names.join("/")}`;
  checkText(made, "The path");
  const size = Buffer.byteLength(made);
  if (size > PATH_BYTES_MAX) {
    throw new MemoryToolError(`The path ${path} has ${size} bytes; allowed: at most ${PATH_BYTES_MAX}.`);
  }
  return made;
}

/** Throws for a text that no memory can hold: with NUL, or no valid Unicode. */
export function checkText(text: string, what: string): void {
  if (text.includes("\0")) throw new MemoryToolError(`${what} has a NUL character; allowed: text without NUL.`);
  if (!text.isWellFormed()) throw new MemoryToolError(`${what} has a lone surrogate; allowed: valid Unicode.`);
}

/** The external id of a resolved path. */
export function externalId(path: string): string {
  return PREFIX + path;
}

/** The path of an external id. */
export function pathOf(externalId: string): string {
  return externalId.startsWith(PREFIX) ? externalId.slice(PREFIX.length) : externalId;
}

/** The directories above a resolved path, the nearest first, without the root. */
export function parents(path: string): string[] {
  const found: string[] = [];
  let above = path.slice(0, path.lastIndexOf("/"));
  while (above.length > ROOT.length) {
    found.push(above);
    above = above.slice(0, above.lastIndexOf("/"));
  }
  return found;
}

/** Whether a resolved path lies below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
