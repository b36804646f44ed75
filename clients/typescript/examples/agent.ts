/**
 * An agent that looks up what it knows, answers, and keeps what is new.
 *
 *     node examples/agent.ts "Which port has the staging database?"
 *
 * `answer` stands for your model: it gets the question and the notes, and says what to keep.
 */

import { Totonoe, type Hit } from "totonoe";

const memory = new Totonoe({ agentId: "example-agent" });
const question = process.argv[2] ?? "Which port has the staging database?";

const { hits } = await memory.recall(question, { k: 5, minRelevance: 0.1 });
console.log(`notes: ${hits.map(noteOf).join(" | ") || "none"}`);

const { reply, keep } = answer(question, hits.map(noteOf));
console.log(`reply: ${reply}`);

for (const text of keep) {
  const kept = await memory.remember(text, { category: "fact" });
  if (kept.saved) console.log(`kept: ${text}`);
  else console.log(`known already: ${kept.duplicate?.snippet ?? kept.duplicateOf}`);
  // A pair that may say the same: whoever can tell answers with `resolve`.
  if (kept.question !== undefined) console.log(`is it the same as "${kept.question.snippet}"?`);
}

memory.close();

function noteOf(hit: Hit): string {
  const newer = hit.updatedBy.at(0) ?? hit.contradictedBy.at(0);
  const text = hit.memory?.content ?? "";
  return newer === undefined ? text : `${text} (but: ${newer.snippet})`;
}

function answer(_question: string, notes: readonly string[]): { reply: string; keep: string[] } {
  const fact = "The staging database listens on port 5433.";
  const known = notes.some((note) => note.includes("5433"));
  return { reply: known ? "As noted, 5433." : "I looked it up: 5433.", keep: [fact] };
}
