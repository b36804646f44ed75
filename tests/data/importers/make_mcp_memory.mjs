// Make mcp_memory.jsonl with @modelcontextprotocol/server-memory 2026.8.31 from npm:
//   node make_mcp_memory.mjs PATH/TO/node_modules
// The server's own class writes the file; two objects on one line are joined here, as an append without a
// line feed leaves them.

import { readFile, writeFile } from "fs/promises";
import path from "path";
import { fileURLToPath } from "url";

const modules = path.resolve(process.argv[2] ?? "node_modules");
const server = path.join(modules, "@modelcontextprotocol/server-memory/dist/index.js");
process.env.MEMORY_FILE_PATH = "/dev/null";
const { KnowledgeGraphManager } = await import(server);

const target = path.join(path.dirname(fileURLToPath(import.meta.url)), "mcp_memory.jsonl");
await writeFile(target, "");
const graph = new KnowledgeGraphManager(target);
await graph.createEntities([
  {
    name: "staging_database",
    entityType: "service",
    observations: ["Listens on port 5433.", "Listens on port  5433. ", "Listens on port 5434."],
  },
  { name: "John_Smith", entityType: "person", observations: ["Speaks fluent Spanish."] },
  { name: "Ann", entityType: "person", observations: ["Speaks fluent Spanish."] },
  { name: "Team_A", entityType: "team", observations: [] },
]);
await graph.addObservations([{ entityName: "Ann", contents: ["把持力は12.5Nに設定する。"] }]);
await graph.createRelations([
  { from: "John_Smith", to: "Team_A", relationType: "works_in" },
  { from: "Ann", to: "staging_database", relationType: "maintains" },
]);
const text = await readFile(target, "utf-8");
const lines = text.split("\n");
await writeFile(target, [lines[0], lines[1] + lines[2], ...lines.slice(3)].join("\n"));
process.exit(0);
