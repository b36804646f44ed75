/** Anthropic's memory tool: the golden cases of the Python one, and Anthropic's SDK and the AI SDK that call it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { anthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryTool, MemoryToolError, type MemoryTool, type MemoryToolOptions } from "totonoe/anthropic";
import { errors, Totonoe } from "./totonoe.ts";
import { Daemon, PYTHON } from "./daemon.ts";

const run = promisify(execFile);
const TESTS = join(import.meta.dirname, "..", "..", "..", "tests");
const TEA = "Ann likes green tea in the morning.";
const PORT = "The staging database listens on port 5433.";
const RANDOM = 150;

type Json = Record<string, unknown>;

interface Step {
  command: Json;
  answer?: string;
  error?: string;
  error_begins?: string;
  lines?: string[];
}

const { cases } = JSON.parse(readFileSync(join(TESTS, "golden", "memory_tool.json"), "utf8")) as {
  cases: { name: string; options?: MemoryToolOptions; steps: Step[] }[];
};

// Random commands and what the tool in Python answers, one a line.
const IN_PYTHON = `
import json, sys, tempfile
from pathlib import Path
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from support.memory_commands import Commands, answer
from totonoe import Client
from totonoe.adapters.anthropic import MemoryTool
address, collection, seed, count = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder, Client(address, agent_id="ann", collection=collection) as client:
    tools = BetaLocalFilesystemMemoryTool(folder), MemoryTool(client)
    commands = Commands(int(seed), tools[0].memory_root)
    for _ in range(int(count)):
        command = commands.one()
        said = [answer(lambda: tool.call(command)) for tool in tools]
        print(json.dumps({"command": command, "answer": said[1]}))
`;

const CREATES = `
import sys
from totonoe import Client
from totonoe.adapters.anthropic import MemoryTool
with Client(sys.argv[1], agent_id="ann", collection=sys.argv[2]) as client:
    MemoryTool(client).call({"command": "create", "path": "/memories/a.md", "file_text": sys.argv[3]})
`;

test("the limits are those of the page, which are those of the tool in Python", async () => {
  const page = readFileSync(join(TESTS, "..", "docs", "limits.md"), "utf8");
  const section = page.split("## Anthropic's memory tool\n")[1]?.split("\n## ")[0] ?? "";
  const shown = [...section.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name, value]) => [name, Number(value)]);
  const own: [string, unknown][] = [];
  for (const module of ["files", "lines", "notes", "paths"]) {
    const parts = (await import(`../dist/memory-tool/${module}.js`)) as Json;
    own.push(...Object.entries(parts).filter(([name]) => name.endsWith("_MAX")));
  }
  assert.deepEqual(Object.fromEntries(own), Object.fromEntries(shown));
});

describe("Anthropic's memory tool", () => {
  // A judge has an opinion only if the machine is quick enough, and Notes say what it found.
  const daemon = new Daemon(["--judge", "none"]);
  let admin: Totonoe;
  let count = 0;

  before(async () => {
    await daemon.start();
    admin = daemon.client();
  });

  after(async () => {
    admin?.close();
    await daemon[Symbol.asyncDispose]();
  });

  /** A client of a collection of its own. */
  async function fresh(): Promise<[Totonoe, string]> {
    const collection = `tool-${(count += 1)}`;
    await admin.createCollection(collection);
    return [daemon.client({ collection }), collection];
  }

  async function python(script: string, ...words: string[]): Promise<string> {
    const options = { env: { ...process.env, PYTHONPATH: TESTS }, timeout: 100_000, maxBuffer: 1 << 26 };
    return (await run(PYTHON, ["-c", script, daemon.address, ...words], options)).stdout;
  }

  /** Live memories that are no files, in order. */
  async function lines(client: Totonoe): Promise<string[]> {
    const found: string[] = [];
    for await (const memory of client.listAll()) if (memory.category !== "file") found.push(memory.content);
    return found.sort();
  }

  for (const { name, options, steps } of cases) {
    test(`golden: ${name}`, async () => {
      const [client] = await fresh();
      const tool = memoryTool(client, options);
      for (const [index, step] of steps.entries()) {
        const place = `step ${index + 1}`;
        if (step.lines !== undefined) {
          assert.deepEqual(await lines(client), step.lines, place);
          continue;
        }
        const said = await answered(tool, given(step.command));
        if (step.answer !== undefined) assert.equal(said, step.answer, place);
        else if (step.error !== undefined) assert.equal(said, `ToolError: ${step.error}`, place);
        else assert.ok(said.startsWith(`ToolError: ${step.error_begins}`), `${place}: ${said}`);
      }
    });
  }

  test("random commands are answered as by the tool in Python", async () => {
    const [client, collection] = await fresh();
    await admin.createCollection(`${collection}-python`);
    const said = await python(IN_PYTHON, `${collection}-python`, "16", String(RANDOM));
    const tool = memoryTool(client);
    const commands = said.trimEnd().split("\n");
    assert.equal(commands.length, RANDOM);
    for (const [index, line] of commands.entries()) {
      const { command, answer } = JSON.parse(line) as { command: Json; answer: string };
      const own = await answered(tool, command);
      assert.equal(own.replace(/mem_\w+/g, "ID"), answer.replace(/mem_\w+/g, "ID"), `command ${index}: ${line}`);
    }
  });

  test("a file that was made in Python is edited, and its lines are known", async () => {
    const [client, collection] = await fresh();
    await python(CREATES, collection, `- ${TEA}\n- ${PORT}\n- Grüße aus Köln, ${"lang ".repeat(40)}\n`);
    const before = await lines(client);
    assert.equal(before.length, 3);
    const { revision } = (await client.operations({ pageSize: 1 })).operations[0] ?? assert.fail();
    await memoryTool(client).execute({ command: "insert", path: "/memories/a.md", insert_line: 0, insert_text: "# Head" });
    const { operations } = await client.operations();
    const since = operations.filter((one) => one.revision > revision).map((one) => one.kind);
    assert.deepEqual(since, ["Update"]);
    assert.deepEqual(await lines(client), before);
  });

  test("each command is taken back as one operation", async () => {
    const [client] = await fresh();
    const tool = memoryTool(client);
    await tool.execute({ command: "create", path: "/memories/d/a.md", file_text: `- ${TEA}\n` });
    await tool.execute({ command: "create", path: "/memories/d/b.md", file_text: `- ${PORT}\n` });
    const shown = await tool.execute({ command: "view", path: "/memories" });
    const said = await lines(client);
    await tool.execute({ command: "delete", path: "/memories/d" });
    assert.deepEqual(await lines(client), []);
    const gone = (await client.operations({ pageSize: 1 })).operations[0] ?? assert.fail();
    assert.equal(gone.reason, "deleted /memories/d");
    await client.undo(gone.revision);
    assert.equal(await tool.execute({ command: "view", path: "/memories" }), shown);
    assert.deepEqual(await lines(client), said);
    assert.equal(await tool.clearAllMemory(), "All memory cleared");
    assert.deepEqual(await lines(client), []);
  });

  test("edits of several agents at once are all kept", async () => {
    const [client, collection] = await fresh();
    const agents = ["a1", "a2", "a3"];
    const text = (step: number) => agents.map((agent) => `- agent ${agent} is at step ${step}\n`).join("");
    await memoryTool(client).execute({ command: "create", path: "/memories/a.md", file_text: text(0) });
    await Promise.all(
      agents.map(async (agentId) => {
        const tool = memoryTool(daemon.client({ collection, agentId }), { notes: false });
        for (let step = 0; step < 4; step += 1) {
          const line = `- agent ${agentId} is at step `;
          const names = { path: "/memories/a.md", old_str: `${line}${step}\n`, new_str: `${line}${step + 1}\n` };
          assert.match(await tool.execute({ command: "str_replace", ...names }), /^The memory file has been edited/);
        }
      }),
    );
    assert.equal((await client.get("ext:file:/memories/a.md")).content, text(4));
  });

  test("Anthropic's SDK runs the tool, and gives the model its answers and its errors", async () => {
    const [client] = await fresh();
    const requests: Json[] = [];
    const uses: Json[] = [
      { command: "create", path: "/memories/a.md", file_text: `- ${TEA}\n` },
      { command: "view", path: "/memories/none" },
    ];
    const fetch = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
      requests.push(JSON.parse(String(init?.body)) as Json);
      const input = uses[requests.length - 1];
      const content = input
        ? [{ type: "tool_use", id: `t${requests.length}`, name: "memory", input }]
        : [{ type: "text", text: "done" }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id: "m", type: "message", role: "assistant", model: "none", content, usage };
      return Response.json({ ...message, stop_reason: input ? "tool_use" : "end_turn", stop_sequence: null });
    };
    const runner = new Anthropic({ apiKey: "none", fetch: fetch as never }).beta.messages.toolRunner({
      model: "claude-sonnet-5-5",
      max_tokens: 100,
      messages: [{ role: "user", content: "go" }],
      tools: [memoryTool(client, { cacheControl: { type: "ephemeral" } })],
    });
    await runner.runUntilDone();
    assert.deepEqual(requests[0]?.["tools"], [
      { type: "memory_20250818", name: "memory", cache_control: { type: "ephemeral" } },
    ]);
    const results = requests.slice(1).map((one) => {
      const { content } = (one["messages"] as { content: Json[] }[]).at(-1) ?? assert.fail();
      return content[0];
    });
    assert.equal(results[0]?.["content"], "File created successfully at: /memories/a.md");
    assert.equal(results[1]?.["is_error"], true);
    assert.match(String(results[1]?.["content"]), /The path \/memories\/none does not exist\./);
    assert.deepEqual(await lines(client), [TEA]);
  });

  test("the AI SDK runs the tool of its provider for Anthropic", async () => {
    const [client] = await fresh();
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const input = JSON.stringify({ command: "create", path: "/memories/a.md", file_text: `- ${TEA}\n` });
    const said = (content: Json[], unified: string) => ({ content, finishReason: { unified }, usage, warnings: [] });
    const model = new MockLanguageModelV4({
      doGenerate: [
        said([{ type: "tool-call", toolCallId: "1", toolName: "memory", input }], "tool-calls"),
        said([{ type: "text", text: "done" }], "stop"),
      ] as never,
    });
    const memory = anthropic.tools.memory_20250818({ execute: memoryTool(client).execute });
    const { steps } = await generateText({ model, tools: { memory }, prompt: "go", stopWhen: isStepCount(2) });
    const result = steps[0]?.content.find((part) => part.type === "tool-result");
    assert.equal(result?.output, "File created successfully at: /memories/a.md");
  });

  test("what the daemon refuses is an error of the tool; an abort is the caller's own", async () => {
    const [client] = await fresh();
    const elsewhere = memoryTool(client, { collection: "nowhere" });
    const refused = elsewhere.execute({ command: "view", path: "/memories" });
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof MemoryToolError);
      assert.match(error.message, /^The memory did not take the command: .*nowhere.*\(COLLECTION_NOT_FOUND\)$/);
      return error.cause instanceof errors.NotFound;
    });
    const reason = new Error("enough");
    const aborted = memoryTool(client).execute({ command: "view", path: "/memories" }, { abortSignal: AbortSignal.abort(reason) });
    await assert.rejects(aborted, reason);
    assert.throws(() => memoryTool(client, { note: true } as never), /note: no such option, allowed: collection/);
    await assert.rejects(memoryTool(client).execute(null as never), /Unknown command: undefined\. Allowed: view/);
    await assert.rejects(memoryTool(client).execute({ command: ["view"] }), /Unknown command: \["view"\]\. Allowed/);
  });
});

/** What the tool answers, or the words of its error. */
async function answered(tool: MemoryTool, command: Json): Promise<string> {
  try {
    return await tool.execute(command);
  } catch (error) {
    if (error instanceof MemoryToolError) return `ToolError: ${error.message}`;
    throw error;
  }
}

function given(command: Json): Json {
  return Object.fromEntries(
    Object.entries(command).map(([name, value]) => {
      const long = value as { $times?: number; text?: string };
      return [name, typeof long?.$times === "number" ? String(long.text).repeat(long.$times) : value];
    }),
  );
}
