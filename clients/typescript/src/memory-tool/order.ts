/** Negative, 0 or positive: the order of two texts by their characters, as Python sorts them. */
export function byCharacters(one: string, other: string): number {
  // In UTF-8 and not in UTF-16, which has some characters before others that follow them.
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
