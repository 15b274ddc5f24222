/**
 * What a request will be answered with, decided before the engine starts on it: its pieces, one a token, and why it ends.
 *
 *     text tokens ...... | call 0: name, arguments ...... | call 1: name, arguments ......
 *     0        textTokens                                                          tokens
 *
 * A limit below the whole cuts it wherever it falls, inside a call's arguments too, as a real engine's does.
 */
import type { CallRequest, ScriptedCall } from "./call-request.ts";
import { mix, ownLengthTokens, tokenText } from "./token-text.ts";

export type FinishReason = "stop" | "length" | "tool_calls";

export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call-start"; readonly call: number; readonly name: string }
  | { readonly kind: "call-arguments"; readonly call: number; readonly text: string };

/** JSON comes in tokens of this many characters, about what tokenizers make of it. */
const JSON_TOKEN_CHARS = 4;
/** Characters, not UTF-16 units: half an emoji is no text. */
const JSON_TOKEN = new RegExp(`[\\s\\S]{1,${JSON_TOKEN_CHARS}}`, "gu");

export class Answer {
  /** ≥ 1. */
  readonly tokens: number;
  readonly finish: FinishReason;
  readonly #base: number;
  readonly #textTokens: number;
  readonly #scripted: readonly Piece[];

  /** @param roomTokens most tokens that fit behind the prompt. @param seed the server's. */
  constructor(request: CallRequest, roomTokens: number, seed: number) {
    this.#base = mix(seed, request.prompt.hash);
    this.#scripted = scriptedPieces(request);
    const isScripted = this.#scripted.length > 0;
    this.#textTokens = request.outputTokens ?? (isScripted ? 0 : ownLengthTokens(this.#base));
    const limit = Math.min(request.maxTokens ?? Number.POSITIVE_INFINITY, Math.max(1, roomTokens));
    if (!isScripted && request.outputTokens === undefined) {
      const least = request.ignoreEos ? limit : request.minTokens;
      this.#textTokens = Math.max(this.#textTokens, least);
    }
    const whole = this.#textTokens + this.#scripted.length;
    this.tokens = Math.min(whole, limit);
    const ends = whole < limit || (isScripted && whole === limit);
    this.finish = ends ? (request.toolCalls.length > 0 ? "tool_calls" : "stop") : "length";
  }

  /** What token `index` says, 0 ≤ index < tokens. */
  piece(index: number): Piece {
    const scripted = this.#scripted[index - this.#textTokens];
    return scripted ?? { kind: "text", text: tokenText(this.#base, index) };
  }
}

function scriptedPieces({ json, toolCalls }: CallRequest): Piece[] {
  if (json !== undefined) {
    return split(json).map((text) => ({ kind: "text", text }));
  }
  return toolCalls.flatMap((call, index) => callPieces(call, index));
}

function callPieces({ name, arguments: json }: ScriptedCall, call: number): Piece[] {
  const start: Piece = { kind: "call-start", call, name };
  return [start, ...split(json).map((text): Piece => ({ kind: "call-arguments", call, text }))];
}

function split(json: string): readonly string[] {
  return json.match(JSON_TOKEN) ?? [];
}
