/**
 * BLAKE2b with a short digest (RFC 7693), which Node's crypto does not have: the digest's length is
 * part of what is hashed. By it, tools in Python and in TypeScript know the same lines of a file.
 */

const BLOCK_BYTES = 128;
const IV = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
] as const;
// The order of the 16 words of a block in each round; rounds 10 and 11 are those of 0 and 1.
const SIGMA = [
  "0123456789abcdef",
  "ea489fd61c02b753",
  "b8c052fdae367194",
  "7931dcbe265a40f8",
  "905724afe1bc683d",
  "2c6a0b834d75fe19",
  "c51fed4a0763928b",
  "db7ec13950f4862a",
  "6fe9b308c2d714a5",
  "a2847615fb9e3cd0",
];
const COLUMNS = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"];
const [ROUNDS, COLUMN_PLACES] = [SIGMA, COLUMNS].map((rows) =>
  rows.map((row) => [...row].map((digit) => Number.parseInt(digit, 16))),
) as [number[][], number[][]];
const ROUND_COUNT = 12;

/** A text's digest of that many bytes, 1 to 8, as hex digits. */
export function blake2b(text: string, digestBytes: number): string {
  const data = Buffer.from(text);
  // Words of these arrays have 64 bits: what is more is cut off.
  const state = BigUint64Array.from(IV);
  state[0] = at(state, 0) ^ 0x01010000n ^ BigInt(digestBytes);
  const blockCount = Math.max(1, Math.ceil(data.length / BLOCK_BYTES));
  for (let index = 0; index < blockCount; index += 1) {
    const block = Buffer.alloc(BLOCK_BYTES);
    data.copy(block, 0, index * BLOCK_BYTES);
    const isLast = index === blockCount - 1;
    compress(state, block, BigInt(isLast ? data.length : (index + 1) * BLOCK_BYTES), isLast);
  }
  const digest = Buffer.alloc(8);
  digest.writeBigUInt64LE(at(state, 0));
  return digest.toString("hex", 0, digestBytes);
}

function compress(state: BigUint64Array, block: Buffer, hashedBytes: bigint, isLast: boolean): void {
  const words = BigUint64Array.from({ length: 16 }, (_, index) => block.readBigUInt64LE(8 * index));
  const mixed = BigUint64Array.from([...state, ...IV]);
  mixed[12] = at(mixed, 12) ^ hashedBytes;
  if (isLast) mixed[14] = ~at(mixed, 14);
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const order = ROUNDS[round % ROUNDS.length] as number[];
    for (const [step, places] of COLUMN_PLACES.entries()) {
      const [a, b, c, d] = places as [number, number, number, number];
      for (const half of [0, 1] as const) {
        mixed[a] = at(mixed, a) + at(mixed, b) + at(words, order[2 * step + half] as number);
        mixed[d] = turned(at(mixed, d) ^ at(mixed, a), half === 0 ? 32n : 16n);
        mixed[c] = at(mixed, c) + at(mixed, d);
        mixed[b] = turned(at(mixed, b) ^ at(mixed, c), half === 0 ? 24n : 63n);
      }
    }
  }
  for (let index = 0; index < 8; index += 1) {
    state[index] = at(state, index) ^ at(mixed, index) ^ at(mixed, index + 8);
  }
}

function at(words: BigUint64Array, index: number): bigint {
  return words[index] as bigint;
}

/** A word turned right by some bits; what is over 64 bits is cut off where it is kept. */
function turned(word: bigint, bits: bigint): bigint {
  return (word >> bits) | (word << (64n - bits));
}
