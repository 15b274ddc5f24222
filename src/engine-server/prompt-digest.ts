/**
 * What the twin keeps of a prompt: how long it is and a number that depends on every character. The twin has no
 * tokenizer, since its price is set by counts alone: a token is a run of characters between white space. So a prompt of N
 * words costs N tokens, exactly and in every language that puts spaces between words.
 */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Start and factor of a second stream of bits, for names that must not collide (a factor of MurmurHash3's). */
const NAME_OFFSET = 0x9747b28c;
const NAME_FACTOR = 0x85ebca6b;

/** Tokens of `text` by the twin's rule: its whitespace-separated words. */
export function approximateTokens(text: string): number {
  return new PromptDigest().add(text).words;
}

export class PromptDigest {
  words = 0;
  /** FNV-1a over UTF-16 code units and the ends of parts; 32 bits. */
  hash = FNV_OFFSET;
  /** One for every whole piece: 53 bits, above 0, that stand for all words up to its end. */
  readonly pieceNames: number[] = [];
  readonly #pieceTokens: number;
  #high = NAME_OFFSET;

  /** @param pieceTokens what a prefix cache names; without it no names are made. */
  constructor(pieceTokens = Number.POSITIVE_INFINITY) {
    this.#pieceTokens = pieceTokens;
  }

  /** Takes in one part of the prompt. A word never reaches over two parts. */
  add(text: string): this {
    // The loop runs over every character of every prompt between two steps of the engine, so it works on locals.
    let { hash } = this;
    let high = this.#high;
    let inWord = false;
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      const space = isSpace(unit);
      // Before the space goes in: what follows a word must not change the name of what it ends.
      if (space && inWord) this.#endWord(hash, high);
      inWord = !space;
      hash = Math.imul(hash ^ unit, FNV_PRIME);
      high = (Math.imul(high, NAME_FACTOR) + unit) | 0;
    }
    if (inWord) this.#endWord(hash, high);
    // An end mark that no code unit can be: "ab","c" differs from "a","bc".
    this.#set(hash, high, 0x10000);
    return this;
  }

  /** Takes in a token that has a number and no text, as in a prompt of token ids. */
  addTokenId(id: number): this {
    this.#set(this.hash, this.#high, id);
    this.#endWord(this.hash, this.#high);
    return this;
  }

  /** At least 1, as a real template adds tokens of its own and no engine computes an empty prompt. */
  get tokens(): number {
    return Math.max(1, this.words);
  }

  #set(hash: number, high: number, unit: number): void {
    this.hash = Math.imul(hash ^ unit, FNV_PRIME) >>> 0;
    this.#high = (Math.imul(high, NAME_FACTOR) + unit) | 0;
  }

  #endWord(hash: number, high: number): void {
    this.words += 1;
    if (this.words % this.#pieceTokens !== 0) return;
    this.pieceNames.push((high >>> 11) * 2 ** 32 + (hash >>> 0) + 1);
  }
}

/** The white space of JavaScript's `\s`. */
function isSpace(unit: number): boolean {
  if (unit <= 32) return unit === 32 || (unit >= 9 && unit <= 13);
  if (unit < 160) return false;
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}
