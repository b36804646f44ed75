/** The page and the example run as they are, and compile with the oldest compiler and the newest. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Totonoe } from "./totonoe.ts";
import { Daemon } from "./daemon.ts";

const run = promisify(execFile);
const HERE = join(import.meta.dirname, "..");
const PAGE = readFileSync(join(HERE, "..", "..", "docs", "typescript.md"), "utf8");
const EXAMPLE = join(HERE, "examples", "agent.ts");
// Inside of the package, where its own name can be imported.
const MODULE = join(HERE, "build", "page.ts");
// Code that needs a model or a key is compiled and not run.
const SHOWN = [...PAGE.matchAll(/```typescript\n(.*?)```/gs)].map((match, index) => ({
  file: join(HERE, "build", `shown-${index}.ts`),
  text: `declare const model: import("ai").LanguageModel;\n${match[1]}`,
}));
const COMPILE = [
  ...["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"],
  ...["--lib", "es2023,esnext.disposable"],
];

describe("the page", () => {
  const daemon = new Daemon();

  before(async () => {
    const blocks = [...PAGE.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1]);
    assert.ok(blocks.length >= 3);
    mkdirSync(join(HERE, "build"), { recursive: true });
    writeFileSync(MODULE, blocks.join("\n"));
    assert.ok(SHOWN.length >= 4);
    for (const { file, text } of SHOWN) writeFileSync(file, text);
    await daemon.start();
  });

  after(async () => {
    for (const file of [MODULE, ...SHOWN.map((one) => one.file)]) rmSync(file, { force: true });
    await daemon[Symbol.asyncDispose]();
  });

  async function printed(file: string): Promise<string> {
    const env = { ...process.env, TOTONOE_ADDRESS: daemon.address, NODE_NO_WARNINGS: "1" };
    return (await run(process.execPath, [file], { timeout: 40_000, env })).stdout;
  }

  test("its code prints what it says", async () => {
    const said = [...PAGE.matchAll(/^ {4}(.*)\n/gm)].map((match) => match[1]);
    assert.equal(await printed(MODULE), `${said.join("\n")}\n`);
  });

  test("it names every call", () => {
    const calls = Object.getOwnPropertyNames(Totonoe.prototype).filter((name) => name !== "constructor");
    for (const name of calls.filter((one) => !["agentId", "address"].includes(one))) {
      assert.match(PAGE, new RegExp(`\\b${name}\\b`), name);
    }
  });

  test("the example keeps a fact, and knows it the next time", async () => {
    assert.match(await printed(EXAMPLE), /reply: I looked it up: 5433\.|reply: As noted/);
    const second = await printed(EXAMPLE);
    assert.match(second, /notes: .*5433/);
    assert.match(second, /reply: As noted, 5433\.\nknown already: The staging database listens on port 5433\./);
  });

  for (const compiler of ["typescript-5.6", "typescript"]) {
    test(`the package itself compiles with ${compiler}`, async () => {
      const words = [join(HERE, "node_modules", compiler, "bin", "tsc"), "-p", ".", "--noEmit"];
      try {
        await run(process.execPath, words, { timeout: 100_000, cwd: HERE });
      } catch (error) {
        assert.fail((error as { stdout?: string }).stdout ?? String(error));
      }
    });

    test(`page and example compile with ${compiler}`, async () => {
      const tsc = join(HERE, "node_modules", compiler, "bin", "tsc");
      const flags = compiler === "typescript" ? ["--ignoreConfig"] : [];
      try {
        const files = [MODULE, EXAMPLE, ...SHOWN.map((one) => one.file)];
        await run(process.execPath, [tsc, ...COMPILE, ...flags, ...files], { timeout: 100_000, cwd: HERE });
      } catch (error) {
        assert.fail((error as { stdout?: string }).stdout ?? String(error));
      }
    });
  }
});
