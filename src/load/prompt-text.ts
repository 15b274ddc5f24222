/**
 * Prompts of about N tokens without a tokenizer: N words that most vocabularies hold as one token each. What the server
 * counted stands in its usage and is what results are reckoned with. A prompt begins with words that no other prompt of
 * any run has, since a server's prefix cache would answer a repeated one at once and the run would measure that
 * (casebook LD-10); where a trace says which blocks are shared, exactly those are equal, within one run.
 */
import { Random } from "../clock/index.ts";

const WORDS = (
  "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but " +
  "not what all were we when your can said there use an each which she do how their if will up other about out many " +
  "then them these so some her would make like him into time has look two more write go see number no way could " +
  "people my than first water been call who oil its now find long down day did get come made may part over new " +
  "sound take only little work know place year live me back give most very after thing our just name good sentence " +
  "man think say great where help through much before line right too mean old any same tell boy follow came want " +
  "show also around form three small set put end does another well large must big even such because turn here why"
).split(" ");

/** Words of the filler; a prompt longer than this repeats it. */
const FILLER_WORDS = 8_192;
/** Tokens that one id of a trace's `hash_ids` stands for. */
const BLOCK_TOKENS = 512;

export interface PromptSource {
  readonly promptTokens: number;
  readonly blockHashes?: readonly number[];
}

/** Tokens of a text by the rule that prompts are made by: its whitespace-separated words. */
export function approximateTokens(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

export class PromptText {
  readonly #nonce: string;
  readonly #filler: string;
  /** Where each word of the filler begins; the last one is its length plus one. */
  readonly #starts: Int32Array;

  /** @param nonce makes this run's prompts unlike those of any other; letters and digits. @param seed of the words. */
  constructor(nonce: string, seed: number) {
    const random = new Random(seed, "prompts");
    const words = Array.from({ length: FILLER_WORDS }, () => WORDS[random.int(WORDS.length)]!);
    this.#nonce = nonce;
    this.#filler = words.join(" ");
    this.#starts = new Int32Array(FILLER_WORDS + 1);
    for (const [i, word] of words.entries()) {
      this.#starts[i + 1] = this.#starts[i]! + word.length + 1;
    }
  }

  /**
   * Letters, digits, hyphens and spaces only, so it stands in JSON as it is. Cheap however long: it is cut from text
   * that exists, since a client that makes text word by word between two reads measures itself.
   * @param index of the request in its run.
   */
  prompt(source: PromptSource, index: number): string {
    const { promptTokens, blockHashes } = source;
    if (blockHashes === undefined)
      return this.#passage(`${this.#nonce}-${index}`, index, promptTokens);
    const parts: string[] = [];
    for (let block = 0, left = promptTokens; left > 0; block += 1, left -= BLOCK_TOKENS) {
      const hash = blockHashes[block];
      // A rest that the trace gives no id for is nobody else's.
      const tokens = hash === undefined ? left : Math.min(left, BLOCK_TOKENS);
      const mark = hash === undefined ? `${this.#nonce}-${index}` : `${this.#nonce}-block-${hash}`;
      parts.push(this.#passage(mark, hash ?? index, tokens));
      if (hash === undefined) break;
    }
    return parts.join(" ");
  }

  /** `mark`, then `tokens - 1` words from a place of the filler that depends on `key`. */
  #passage(mark: string, key: number, tokens: number): string {
    let text = mark;
    let word = ((key % FILLER_WORDS) * 97) % FILLER_WORDS;
    for (let left = tokens - 1; left > 0; word = 0) {
      const count = Math.min(left, FILLER_WORDS - word);
      text += ` ${this.#filler.slice(this.#starts[word]!, this.#starts[word + count]! - 1)}`;
      left -= count;
    }
    return text;
  }
}
