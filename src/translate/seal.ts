/**
 * Reasoning that its provider wants back untouched, on its way through a client of the other format. Each provider seals
 * in its own field: Anthropic in `signature` of a thinking block or `data` of a redacted one, OpenAI in
 * `encrypted_content` of a reasoning item. A client keeps that field and sends it back, whatever is in it; so the seal of
 * one travels in the field of the other behind a prefix that says whose it is. Chat completions have no such field.
 */

export interface Seal {
  readonly owner: "anthropic-messages" | "openai-responses";
  readonly kind: "signature" | "redacted";
  readonly data: string;
}

const PREFIXES: ReadonlyArray<readonly [string, Omit<Seal, "data">]> = [
  ["manx.anthropic.signature:", { owner: "anthropic-messages", kind: "signature" }],
  ["manx.anthropic.redacted:", { owner: "anthropic-messages", kind: "redacted" }],
  ["manx.openai.encrypted:", { owner: "openai-responses", kind: "redacted" }],
];

/** @returns the text for the field of a client whose format is not the owner's. */
export function wrapSeal(seal: Seal): string {
  const match = PREFIXES.find(([, one]) => one.owner === seal.owner && one.kind === seal.kind);
  return (match?.[0] ?? "") + seal.data;
}

/**
 * @param own what the text is if it has no prefix: a seal of the format in which it came.
 * @returns undefined for an empty text.
 */
export function readSeal(text: string, own: Omit<Seal, "data">): Seal | undefined {
  if (text === "") return undefined;
  for (const [prefix, one] of PREFIXES) {
    if (text.startsWith(prefix)) return { ...one, data: text.slice(prefix.length) };
  }
  return { ...own, data: text };
}
