/**
 * Texts of memories as a model reads them: between markers, as notes that are no instructions.
 *
 * A memory may hold what a stranger wrote, for instance a web page that asks for something. No text
 * can end the fence around it: its markers have random digits that no text has.
 */

import { randomBytes } from "node:crypto";
import { LEAD } from "../gen/tools.js";
import type { Memory } from "./models.js";

const MARK_BYTES = 4;
// Controls, ends of lines and paragraphs, and what turns the direction of a text.
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Memories as one text for a model's prompt; empty if there are none. */
export function fenced(memories: readonly Memory[]): string {
  if (memories.length === 0) return "";
  const blocks = memories.map((memory) => `- ${day(memory)}${indented(keyed(memory))}`);
  let mark: string;
  do mark = randomBytes(MARK_BYTES).toString("hex");
  while (blocks.some((block) => block.includes(mark)));
  return `${LEAD}\n<notes ${mark}>\n${blocks.join("\n")}\n</notes ${mark}>`;
}

function day({ createdTime }: Memory): string {
  return createdTime === undefined ? "" : `${createdTime.toISOString().slice(0, 10)} `;
}

/** The text behind its typed key and its source, if that is not the agent: "[external] ...". */
function keyed({ content, key, source }: Memory): string {
  const text = key === undefined ? content : `${key.subject} / ${key.attribute}: ${content}`;
  return source === undefined || source === "agent" ? text : `[${source}] ${text}`;
}

/** A text whose further lines are indented, so that none looks like one of ours. */
function indented(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING, "\ufffd").replaceAll("\n", "\n    ");
}
