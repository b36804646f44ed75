/** 10,000 remembers in one stream: neither what was sent nor what was answered is kept. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Item } from "totonoe";
import { Daemon } from "./daemon.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const ITEMS = 10_000;
const WARM = 2_000;
// Measured before the stream ends, which lets go of what it kept.
const LAST = 9_990;
const GROWTH_BYTES_MAX = 4_000_000;

test("10,000 remembers in a stream keep the memory of the process bounded", async () => {
  const daemon = new Daemon();
  try {
    await daemon.start();
    const client = daemon.client();
    const held = () => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    let readCount = 0;
    let aheadMax = 0;
    async function* items(): AsyncGenerator<Item> {
      for (let index = 0; index < ITEMS; index += 1) {
        readCount += 1;
        // Each tenth says something new; the others are refused, which costs the daemon least.
        yield { content: `Locker ${Math.floor(index / 10)} is empty.`, attributes: { filler: "x".repeat(1_000), index } };
      }
    }
    let count = 0;
    let savedCount = 0;
    let warmBytes = 0;
    let lastBytes = 0;
    for await (const result of client.rememberMany(items(), { timeoutMs: 100_000 })) {
      count += 1;
      aheadMax = Math.max(aheadMax, readCount - count);
      savedCount += result.remembered?.saved === true ? 1 : 0;
      if (count === WARM) warmBytes = held();
      if (count === LAST) lastBytes = held();
    }
    const grownBytes = lastBytes - warmBytes;
    assert.equal(count, ITEMS);
    assert.equal(savedCount, ITEMS / 10);
    assert.ok(aheadMax <= 64, `${aheadMax} items were read ahead`);
    assert.ok(grownBytes < GROWTH_BYTES_MAX, `${grownBytes} bytes more after ${LAST} items than after ${WARM}`);
    client.close();
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
});
