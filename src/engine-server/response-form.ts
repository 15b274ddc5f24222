/**
 * The two forms in which OpenAI's API says the same thing: chat completions and completions. A form turns pieces into
 * JSON text and knows nothing of sockets or time. Chunks are built from a prefix made once per response, since a live twin
 * writes ten thousand of them a second.
 */
import type { Answer, FinishReason, Piece } from "./answer.ts";

export interface ResponseHead {
  readonly id: string;
  readonly model: string;
  /** Unix time, seconds. */
  readonly createdS: number;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export interface ResponseForm {
  /** Opens a stream once its first token exists; empty if the form has no such chunk. */
  open(): string;
  /** What one step has brought: at least one piece, more than one with drafts only. */
  chunk(pieces: readonly Piece[]): string;
  finish(reason: FinishReason): string;
  usage(usage: Usage): string;
  whole(answer: Answer, usage: Usage): Record<string, unknown>;
}

function frame(json: string): string {
  return `data: ${json}\n\n`;
}

/** JSON of the fields that all chunks of a response share, without the closing brace. */
function sharedFields(head: ResponseHead, object: string): string {
  const { id, model, createdS: created } = head;
  return JSON.stringify({ id, object, created, model }).slice(0, -1);
}

interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; arguments: string };
}

export class ChatForm implements ResponseForm {
  readonly #head: ResponseHead;
  readonly #shared: string;

  constructor(head: ResponseHead) {
    this.#head = head;
    this.#shared = sharedFields(head, "chat.completion.chunk");
  }

  open(): string {
    return this.#choice('{"role":"assistant","content":""}');
  }

  chunk(pieces: readonly Piece[]): string {
    const [piece] = pieces;
    if (pieces.length === 1 && piece!.kind === "text") {
      return this.#choice(`{"content":${JSON.stringify(piece!.text)}}`);
    }
    return this.#choice(JSON.stringify(this.#delta(pieces)));
  }

  finish(reason: FinishReason): string {
    return this.#choice("{}", `"${reason}"`);
  }

  usage(usage: Usage): string {
    return frame(`${this.#shared},"choices":[],"usage":${JSON.stringify(usage)}}`);
  }

  whole(answer: Answer, usage: Usage): Record<string, unknown> {
    let text = "";
    const calls: ToolCall[] = [];
    for (let i = 0; i < answer.tokens; i += 1) {
      const piece = answer.piece(i);
      if (piece.kind === "text") text += piece.text;
      else if (piece.kind === "call-start") calls.push(this.#call(piece.call, piece.name));
      else calls.at(-1)!.function.arguments += piece.text;
    }
    const content = text === "" && calls.length > 0 ? null : text;
    const message = {
      role: "assistant",
      content,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return {
      id: this.#head.id,
      object: "chat.completion",
      created: this.#head.createdS,
      model: this.#head.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: answer.finish }],
      usage,
    };
  }

  /** The text in one, and of each call what there is of it. */
  #delta(pieces: readonly Piece[]): Record<string, unknown> {
    const text = pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
    const calls = new Map<number, { index: number; function: { arguments: string } }>();
    for (const piece of pieces) {
      if (piece.kind === "text") continue;
      const known = calls.get(piece.call);
      if (piece.kind === "call-start") {
        calls.set(piece.call, { index: piece.call, ...this.#call(piece.call, piece.name) });
      } else if (known !== undefined) {
        known.function.arguments += piece.text;
      } else {
        calls.set(piece.call, { index: piece.call, function: { arguments: piece.text } });
      }
    }
    return {
      ...(text !== "" && { content: text }),
      ...(calls.size > 0 && { tool_calls: [...calls.values()] }),
    };
  }

  #choice(delta: string, reason = "null"): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}`;
    return frame(`${this.#shared},"choices":[${choice}]}`);
  }

  #call(index: number, name: string): ToolCall {
    const id = `call_${this.#head.id.slice(this.#head.id.indexOf("-") + 1)}_${index}`;
    return { id, type: "function", function: { name, arguments: "" } };
  }
}

export class CompletionForm implements ResponseForm {
  readonly #head: ResponseHead;
  readonly #shared: string;

  constructor(head: ResponseHead) {
    this.#head = head;
    this.#shared = sharedFields(head, "text_completion");
  }

  open(): string {
    return "";
  }

  chunk(pieces: readonly Piece[]): string {
    return this.#choice(pieces.map(textOf).join(""));
  }

  finish(reason: FinishReason): string {
    return this.#choice("", `"${reason}"`);
  }

  usage(usage: Usage): string {
    return frame(`${this.#shared},"choices":[],"usage":${JSON.stringify(usage)}}`);
  }

  whole(answer: Answer, usage: Usage): Record<string, unknown> {
    let text = "";
    for (let i = 0; i < answer.tokens; i += 1) text += textOf(answer.piece(i));
    return {
      id: this.#head.id,
      object: "text_completion",
      created: this.#head.createdS,
      model: this.#head.model,
      choices: [{ index: 0, text, logprobs: null, finish_reason: answer.finish }],
      usage,
    };
  }

  #choice(text: string, reason = "null"): string {
    const shown = JSON.stringify(text);
    const choice = `{"index":0,"text":${shown},"logprobs":null,"finish_reason":${reason}}`;
    return frame(`${this.#shared},"choices":[${choice}]}`);
  }
}

function textOf(piece: Piece): string {
  return piece.kind === "text" ? piece.text : "";
}
