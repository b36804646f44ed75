/** Statements of a Markdown file: its bullets and paragraphs, each with its line. */

import { blake2b } from "./blake2b.js";

/** Statements of one file that become memories of their own: the first of it. */
export const STATEMENTS_MAX = 128;

const KEY_BYTES = 6;
// White space as Python has it: JavaScript's `\s` lacks the separators and has the byte order mark.
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const NO_SPACE = SPACE.replace("[", "[^");
const SPACES = new RegExp(`${SPACE}+`, "gu");
const BLANK = new RegExp(`^${SPACE}*$`, "u");
const BULLET = new RegExp(
  `^${SPACE}*(?:[-*+•]|\\p{Nd}{1,9}[.)])${SPACE}+(?:\\[[ xX]\\]${SPACE}+)?(?=${NO_SPACE})`,
  "u",
);
const FENCE = new RegExp(`^${SPACE}*(?:\`\`\`|~~~)`, "u");
const NO_STATEMENT = new RegExp(`^${SPACE}*(?:#{1,6}(?:${SPACE}|$)|[|<>]|-->)`, "u");
const SIGNIFICANT = /[\p{L}\p{N}]/u;

/** A bullet or a paragraph, white space folded. */
export interface Statement {
  /** Its first line, from 1. */
  line: number;
  text: string;
  /** Twelve hex digits by which statements of one text are the same. */
  key: string;
}

/**
 * The bullets and paragraphs of a text, at most `STATEMENTS_MAX`. Headings, tables, quotations, HTML
 * and fenced code state nothing of their own. Lines after a bullet belong to it, up to a blank line
 * or the next bullet.
 */
export function statements(text: string): Statement[] {
  const found: { line: number; parts: string[] }[] = [];
  let isOpen = false;
  let isCode = false;
  for (const [index, line] of text.split("\n").entries()) {
    const bullet = BULLET.exec(line);
    if (FENCE.test(line)) {
      isOpen = false;
      isCode = !isCode;
    } else if (isCode) {
      continue;
    } else if (BLANK.test(line) || NO_STATEMENT.test(line)) {
      isOpen = false;
    } else if (bullet !== null) {
      found.push({ line: index + 1, parts: [line.slice(bullet[0].length)] });
      isOpen = true;
    } else if (isOpen) {
      found.at(-1)?.parts.push(line);
    } else {
      found.push({ line: index + 1, parts: [line] });
      isOpen = true;
    }
    if (found.length > STATEMENTS_MAX) break;
  }
  return found
    .map(({ line, parts }) => ({ line, text: parts.join(" ").replace(SPACES, " ").replace(/^ | $/g, "") }))
    // A rule, or a row of signs, says nothing.
    .filter((one) => SIGNIFICANT.test(one.text))
    .slice(0, STATEMENTS_MAX)
    .map((one) => ({ ...one, key: blake2b(one.text, KEY_BYTES) }));
}
