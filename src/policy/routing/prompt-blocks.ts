/**
 * Names for the blocks of a prompt, from its text. Engines cache by token blocks; a router has no tokenizer for each model
 * behind it, and needs none: equal text is equal tokens, so the chain of hashes over blocks of text says where two prompts
 * part, to within a block. 512 characters are about 128 tokens of English: coarse enough that a prompt of 100,000 tokens has
 * few names, fine enough that what a match misses at its end is small beside what it finds.
 *
 * A name is 53 bits of a hash over everything up to the block's end. It is no secret and no proof: whoever finds two texts
 * with one name can send a request of their own to the wrong replica, and nothing else.
 */
const BLOCK_CHARS = 512;
const BLOCKS_MAX = 1_024;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Start and factor of a second stream of bits (the factor is one of MurmurHash3's). */
const SECOND_OFFSET = 0x9747b28c;
const SECOND_FACTOR = 0x85ebca6b;
/** What no character is: "ab", "c" differs from "a", "bc". */
const PART_END = 0x10000;

export class PromptBlocks {
  /** Of all whole blocks up to the bound. */
  readonly names: number[] = [];
  /** UTF-16 code units taken in, beyond the bound too. */
  chars = 0;
  readonly #blocksMax: number;
  #low = FNV_OFFSET;
  #high = SECOND_OFFSET;
  #inBlock = 0;

  /** @param blocksMax names made at most: what is longer is told apart by its beginning. Default 1,024. */
  constructor(blocksMax = BLOCKS_MAX) {
    this.#blocksMax = blocksMax;
  }

  /** The next part of the prompt, in the order in which the model sees it. */
  add(text: string): this {
    this.chars += text.length;
    let at = 0;
    while (at < text.length && this.names.length < this.#blocksMax) {
      const end = Math.min(text.length, at + BLOCK_CHARS - this.#inBlock);
      this.#hash(text, at, end);
      at = end;
    }
    this.#low = Math.imul(this.#low ^ PART_END, FNV_PRIME);
    this.#high = (Math.imul(this.#high, SECOND_FACTOR) + PART_END) | 0;
    return this;
  }

  #hash(text: string, from: number, end: number): void {
    // Every character of every prompt passes here, so the loop works on locals.
    let low = this.#low;
    let high = this.#high;
    for (let i = from; i < end; i += 1) {
      const unit = text.charCodeAt(i);
      low = Math.imul(low ^ unit, FNV_PRIME);
      high = (Math.imul(high, SECOND_FACTOR) + unit) | 0;
    }
    this.#low = low;
    this.#high = high;
    this.#inBlock += end - from;
    if (this.#inBlock < BLOCK_CHARS) return;
    this.#inBlock = 0;
    this.names.push((high >>> 11) * 2 ** 32 + (low >>> 0));
  }
}
