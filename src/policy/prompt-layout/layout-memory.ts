/**
 * The newest prompt of each conversation, to say of the next one where it parts from it. Bounded in conversations and in
 * characters: of a long prompt the first texts are kept (tools and system, where the causes are), of the rest the names.
 */
import { type Divergence, divergenceOf, sharedTokens } from "./divergence.ts";
import type { LayoutPart, PromptLayout } from "./prompt-layout.ts";

export interface LayoutMemoryOptions {
  /** Default 1,000. */
  readonly conversationsMax?: number;
  /** Texts kept of one prompt. Default 32,768. */
  readonly charsEach?: number;
  /** Texts kept in all. Default 16,777,216. */
  readonly charsMax?: number;
}

export interface Followed {
  /** null if it is the first of its conversation, or goes on as it should. */
  readonly divergence: Divergence | null;
  /** Tokens, about, that a cache could have served; null for the first. */
  readonly cacheableTokens: number | null;
}

interface Kept {
  readonly layout: PromptLayout;
  readonly chars: number;
}

export class LayoutMemory {
  readonly #conversationsMax: number;
  readonly #charsEach: number;
  readonly #charsMax: number;
  /** Oldest use first. */
  readonly #kept = new Map<string, Kept>();
  #chars = 0;

  constructor(options: LayoutMemoryOptions = {}) {
    this.#conversationsMax = options.conversationsMax ?? 1_000;
    this.#charsEach = options.charsEach ?? 32_768;
    this.#charsMax = options.charsMax ?? 16_777_216;
  }

  get conversations(): number {
    return this.#kept.size;
  }

  get chars(): number {
    return this.#chars;
  }

  /** The next request of a conversation. */
  follow(conversation: string, layout: PromptLayout): Followed {
    const before = this.#kept.get(conversation)?.layout;
    this.#keep(conversation, layout);
    if (before === undefined) return { divergence: null, cacheableTokens: null };
    return {
      divergence: divergenceOf(before, layout),
      cacheableTokens: sharedTokens(before, layout),
    };
  }

  #keep(conversation: string, layout: PromptLayout): void {
    this.#forget(conversation);
    const kept = trimmed(layout, this.#charsEach);
    this.#kept.set(conversation, kept);
    this.#chars += kept.chars;
    for (const oldest of this.#kept.keys()) {
      const fits = this.#kept.size <= this.#conversationsMax && this.#chars <= this.#charsMax;
      if (fits || this.#kept.size === 1) break;
      this.#forget(oldest);
    }
  }

  #forget(conversation: string): void {
    this.#chars -= this.#kept.get(conversation)?.chars ?? 0;
    this.#kept.delete(conversation);
  }
}

function trimmed({ parts }: PromptLayout, charsMax: number): Kept {
  let chars = 0;
  const kept = parts.map((part): LayoutPart => {
    if (chars + part.chars > charsMax) return { ...part, text: null };
    chars += part.chars;
    return part;
  });
  return { layout: { parts: kept }, chars };
}
