/**
 * What the twin keeps of a prompt: how long it is and a number that depends on every character. The twin has no
 * tokenizer, since its price is set by counts alone: a token is a run of characters between white space. So a prompt of N
 * words costs N tokens, exactly and in every language that puts spaces between words.
 */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Tokens of `text` by the twin's rule: its whitespace-separated words. */
export function approximateTokens(text: string): number {
  return new PromptDigest().add(text).words;
}

export class PromptDigest {
  words = 0;
  /** FNV-1a over UTF-16 code units and the ends of parts; 32 bits. */
  hash = FNV_OFFSET;

  /** Takes in one part of the prompt. A word never reaches over two parts. */
  add(text: string): this {
    let { hash, words } = this;
    let inWord = false;
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      hash = Math.imul(hash ^ unit, FNV_PRIME);
      if (isSpace(unit)) {
        inWord = false;
      } else if (!inWord) {
        inWord = true;
        words += 1;
      }
    }
    // An end mark that no code unit can be: "ab","c" differs from "a","bc".
    this.hash = Math.imul(hash ^ 0x10000, FNV_PRIME) >>> 0;
    this.words = words;
    return this;
  }

  /** Takes in a token that has a number and no text, as in a prompt of token ids. */
  addTokenId(id: number): this {
    this.hash = Math.imul(this.hash ^ id, FNV_PRIME) >>> 0;
    this.words += 1;
    return this;
  }

  /** At least 1, as a real template adds tokens of its own and no engine computes an empty prompt. */
  get tokens(): number {
    return Math.max(1, this.words);
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
