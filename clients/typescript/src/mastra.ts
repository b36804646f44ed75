/** A processor for Mastra: an agent reads what was noted about its input before it answers. */

import type { ProcessInputArgs, ProcessInputResult } from "@mastra/core/processors";
import type { Totonoe } from "./client.js";
import { fenced } from "./fence.js";
import type { Filter } from "./models.js";

const NOTES = 8;
const NOTES_MAX = 50;
const RELEVANCE_MIN = 0.1;
/** Bytes of a query of the contract. */
const QUERY_BYTES_MAX = 32 * 1024;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
const OPTIONS = ["limit", "minRelevance", "filter", "sessionId"];

/** How notes are chosen. */
export interface RecalledNotesOptions {
  /** Notes that are added at most, 1 to 50. Default 8. */
  limit?: number | undefined;
  /** Leave out notes of lower relevance, 0 to 1. Default 0.1. */
  minRelevance?: number | undefined;
  /** Which memories may be added. */
  filter?: Filter | undefined;
  /** Session of the conversation: what it saved is left out, because it stands there already. */
  sessionId?: string | undefined;
}

/** What stands in `inputProcessors` of a Mastra agent. */
export interface RecalledNotes {
  readonly id: "totonoe";
  readonly name: string;
  processInput(args: ProcessInputArgs): Promise<ProcessInputResult>;
}

/**
 * A processor for `inputProcessors` of a Mastra agent. Once a run, it recalls what fits the user's
 * last message and puts it before the conversation: as notes, between markers that none of them can
 * end. Mastra does not keep them. A recall that fails ends the run.
 *
 * @throws TypeError, RangeError if an option is wrong.
 */
export function recalledNotes(client: Totonoe, options: RecalledNotesOptions = {}): RecalledNotes {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) throw new TypeError(`${name}: no such option, allowed: ${OPTIONS.join(", ")}`);
  }
  const { limit = NOTES, minRelevance = RELEVANCE_MIN, filter, sessionId } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > NOTES_MAX) {
    throw new RangeError(`limit: got ${limit}, allowed: 1 to ${NOTES_MAX}`);
  }
  return {
    id: "totonoe",
    name: "Recalled notes",
    processInput: async ({ messages, messageList, abortSignal }) => {
      const query = lastSaid(messages);
      if (query === "") return messageList;
      const { hits } = await client.recall(query, { k: limit, minRelevance, filter, signal: abortSignal });
      const notes = hits
        .flatMap(({ memory }) => memory ?? [])
        .filter((memory) => sessionId === undefined || memory.sessionId !== sessionId);
      return notes.length === 0 ? messageList : messageList.addSystem(fenced(notes), "totonoe");
    },
  };
}

/** The text of the user's last message, cut to what a query may have; empty if nothing is visible. */
function lastSaid(messages: ProcessInputArgs["messages"]): string {
  const last = messages.findLast((message) => message.role === "user");
  const texts = last?.content.parts.flatMap((part) => (part.type === "text" ? part.text : [])) ?? [];
  const bytes = Buffer.from(texts.join("\n").toWellFormed().replaceAll("\0", ""));
  // Half a character at the cut is left out.
  const text = new TextDecoder().decode(bytes.subarray(0, QUERY_BYTES_MAX), { stream: true });
  return VISIBLE.test(text) ? text : "";
}
