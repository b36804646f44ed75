/** The cases that every client shares: `tests/golden/calls.json`, which says how it is read. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { errors, Totonoe } from "./totonoe.ts";
import { Daemon } from "./daemon.ts";

type Bag = Record<string, unknown>;

interface Step {
  call: string;
  args: unknown[];
  options?: Bag;
  fields?: Bag;
  filter?: Bag;
  answer?: Bag;
  error?: Record<string, string>;
  refused?: string;
  keep?: Record<string, string>;
}

interface Cases {
  cases: { name: string; steps: Step[] }[];
}

const FILE = join(import.meta.dirname, "..", "..", "..", "tests", "golden", "calls.json");
const { cases } = JSON.parse(readFileSync(FILE, "utf8")) as Cases;
// Names that are other ones in this language.
const CALLS: Record<string, string> = { list_questions: "questions" };
const OPTIONS: Record<string, string> = { link_type: "type", timeout: "timeoutMs" };
// What holds keys of its user and not of the contract.
const OPAQUE = new Set(["attributes", "payload"]);

describe("golden cases", () => {
  const daemon = new Daemon();

  before(() => daemon.start());
  after(() => daemon[Symbol.asyncDispose]());

  for (const [index, { name, steps }] of cases.entries()) {
    test(name, async () => {
      const collection = `golden-${index}`;
      const client = daemon.client({ collection });
      await client.createCollection(collection);
      const kept: Bag = {};
      try {
        for (const [number, step] of steps.entries()) await run(client, step, kept, `step ${number + 1}`);
      } finally {
        client.close();
      }
    });
  }
});

async function run(client: Totonoe, step: Step, kept: Bag, place: string): Promise<void> {
  const call = (): Promise<unknown> => {
    const options = given(step.options ?? {}, kept) as Bag;
    const fields = step.fields === undefined ? undefined : (given(step.fields, kept) as Bag);
    const args = given(step.args, kept) as unknown[];
    // What is changed is an argument of its own.
    if (step.call === "update") args.push(fields);
    else Object.assign(options, fields);
    if (step.filter !== undefined) options["filter"] = given(step.filter, kept);
    const method = client[camel(CALLS[step.call] ?? step.call) as keyof Totonoe] as (...all: unknown[]) => Promise<unknown>;
    return method.call(client, ...args, options);
  };
  if (step.refused !== undefined) {
    const error: unknown = await call().catch((failure: unknown) => failure);
    assert.ok(error instanceof TypeError || error instanceof RangeError, `${place}: ${String(error)}`);
    assert.ok(error.message.includes(step.refused), `${place}: ${error.message}`);
  } else if (step.error !== undefined) {
    const error: unknown = await call().then(() => undefined, (failure: unknown) => failure);
    assert.ok(error instanceof errors.TotonoeError, `${place}: ${String(error)}`);
    const found: Bag = { class: error.name, code: error.code, reason: error.reason, field: error.field };
    for (const [name, value] of Object.entries(step.error)) assert.equal(found[name], value, `${place}: ${name}`);
    if ("field" in step.error) assert.notEqual(error.allowed, "", place);
  } else {
    const answer = await call();
    holds(answer, given(step.answer ?? {}, kept), place);
    for (const [name, path] of Object.entries(step.keep ?? {})) {
      kept[name] = path.split(".").reduce((value: unknown, part) => (value as Bag)[camel(part)], answer);
    }
  }
}

/** A value of the file as the client takes it, or as its answer has it. */
function given(value: unknown, kept: Bag): unknown {
  if (typeof value === "string") return value.startsWith("$") ? kept[value.slice(1)] : value;
  if (Array.isArray(value)) return value.map((one) => given(one, kept));
  if (typeof value !== "object" || value === null) return value;
  const bag = value as Bag;
  if (typeof bag["$time"] === "string") return new Date(bag["$time"]);
  if (typeof bag["$times"] === "number") return String(bag["text"]).repeat(bag["$times"]);
  return Object.fromEntries(
    Object.entries(bag).map(([name, one]) => [
      OPTIONS[name] ?? camel(name),
      OPAQUE.has(name) ? one : given(one, kept),
    ]),
  );
}

/** Asserts that all that is expected is so; fields that are not named may be anything. */
function holds(found: unknown, expected: unknown, place: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(found), place);
    assert.equal(found.length, expected.length, place);
    expected.forEach((one, index) => holds(found[index], one, `${place}[${index}]`));
  } else if (expected instanceof Date || typeof expected !== "object") {
    assert.deepEqual(found, expected, place);
  } else if (expected === null) {
    assert.equal(found ?? null, null, place);
  } else {
    for (const [name, one] of Object.entries(expected)) holds((found as Bag)[name], one, `${place}: ${name}`);
  }
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
