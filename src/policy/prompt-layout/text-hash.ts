/**
 * A name for a text: 53 bits of two multiplicative hashes (FNV-1a and MurmurHash3's factor). No secret and no proof: it
 * tells parts of prompts apart, and whoever finds two texts of one name has deceived a statistic.
 */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SECOND_OFFSET = 0x9747b28c;
const SECOND_FACTOR = 0x85ebca6b;

export function textHash(text: string): number {
  let low = FNV_OFFSET;
  let high = SECOND_OFFSET;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, FNV_PRIME);
    high = (Math.imul(high, SECOND_FACTOR) + unit) | 0;
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
