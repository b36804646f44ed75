/** Requests of one text, and what is read of their answers. */

import { MemoryDraftSchema } from "../gen/totonoe/v1/types_pb.js";
import type * as models from "./models.js";

/** The fields of a request of one text: those of the memory go into the memory. */
export function draftRequest(content: string, options: object): object {
  const memory: Record<string, unknown> = { content };
  const request: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    (name in MemoryDraftSchema.field && name !== "content" ? memory : request)[name] = value;
  }
  return { ...request, memory };
}

/** The answer of a Remember as the two things that it can be. */
export function remembered(answer: object): models.Remembered {
  const made = answer as models.Remembered;
  if (made.saved) return made;
  const duplicateOf = made.duplicate?.memoryId ?? made.forgotten?.memoryId ?? made.memoryId;
  return { ...made, duplicateOf, evidence: made.duplicate?.judgement?.evidence ?? [] };
}
