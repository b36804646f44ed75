/** What npm would publish: all that is imported, nothing else, and small. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const HERE = join(import.meta.dirname, "..");
const PACKED_BYTES_MAX = 200_000;

interface Packed {
  size: number;
  files: { path: string }[];
}

test("the package has its entries and their types, no sources and no tests, and at most 200 KB", async () => {
  // The package is built already.
  const words = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await run("npm", words, { cwd: HERE, timeout: 60_000 });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, Packed>);
  assert.ok(packed !== undefined && packed.size > 0);
  assert.ok(packed.size <= PACKED_BYTES_MAX, `${packed.size} bytes`);
  const files = packed.files.map((file) => file.path);
  const { exports, sideEffects } = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8")) as {
    exports: Record<string, string | { types: string; default: string }>;
    sideEffects: boolean;
  };
  assert.equal(sideEffects, false);
  assert.deepEqual(Object.keys(exports), [".", "./ai-sdk", "./anthropic", "./mastra", "./package.json"]);
  for (const entry of Object.values(exports)) {
    const named = typeof entry === "string" ? [entry] : [entry.types, entry.default];
    for (const path of named) assert.ok(files.includes(path.replace("./", "")), path);
    // A compiler takes the first that fits.
    if (typeof entry !== "string") assert.equal(Object.keys(entry)[0], "types");
  }
  const known = /^(dist\/[\w/-]+\.(js|d\.ts)|gen\/[\w/-]+\.(js|d\.ts)|README\.md|LICENSE|package\.json)$/;
  assert.deepEqual(files.filter((path) => !known.test(path)), []);
});

test("each entry can be imported by itself", async () => {
  for (const [entry, name] of [
    ["totonoe", "Totonoe"],
    ["totonoe/ai-sdk", "totonoeTools"],
    ["totonoe/anthropic", "memoryTool"],
    ["totonoe/mastra", "recalledNotes"],
  ] as const) {
    const code = `console.log(typeof (await import("${entry}")).${name})`;
    const words = ["--input-type=module", "--eval", code];
    const { stdout } = await run(process.execPath, words, { cwd: HERE, timeout: 30_000 });
    assert.equal(stdout.trim(), "function", entry);
  }
});
