/** What the tests of translated streams share: a whole stream through a translator, and what an answer means. */
import type { StreamFormat } from "../../src/stream/index.ts";
import { StreamTranslator } from "../../src/translate/index.ts";
import { bytesOf, type Decoded } from "./wire-text.ts";

export const FORMATS: readonly StreamFormat[] = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
];
export const PAIRS = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const)).filter(
  ([from, to]) => from !== to,
);
export const OPTIONS = { id: "gen_1", createdS: 1_700_000_000, includeUsage: true };

export interface Translated {
  readonly wire: string;
  readonly isComplete: boolean;
}

export function translate(
  from: StreamFormat,
  to: StreamFormat,
  wire: string | Uint8Array,
  cuts: readonly number[] = [],
): Translated {
  const bytes = typeof wire === "string" ? bytesOf(wire) : wire;
  const translator = new StreamTranslator(from, to, OPTIONS);
  const text = new TextDecoder();
  let out = "";
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    out += text.decode(translator.push(bytes.subarray(at, cut), 0));
    at = cut;
  }
  const end = translator.end(0);
  return { wire: out + text.decode(end.bytes), isComplete: end.isComplete };
}

/** What an answer means, whatever wire it came on. */
export function meaningOf({ events, completion, text }: Decoded) {
  const thought = events.map((one) => (one.type === "reasoning-delta" ? one.text : "")).join("");
  const refused = events.map((one) => (one.type === "refusal-delta" ? one.text : "")).join("");
  const pieces = new Map<number, string>();
  for (const one of events) {
    if (one.type === "tool-delta") pieces.set(one.call, (pieces.get(one.call) ?? "") + one.json);
  }
  const calls = completion.toolCalls.map(({ id, name, argumentsText }) => ({
    id,
    name,
    argumentsText,
  }));
  return { text, refused, thought, calls, pieces: [...pieces.values()], reason: completion.reason };
}
