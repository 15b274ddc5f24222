/**
 * How an answer that is refused ends, each API in its own words, well-formed and never as a success: chat completions and
 * legacy completions finish with `content_filter`, responses are `incomplete` for `content_filter`, messages stop with
 * `refusal`. What has been released stays; what has not is gone.
 */
import type { StreamFormat } from "../../stream/index.ts";
import { dataOf } from "./answer-pieces.ts";

type Json = Readonly<Record<string, unknown>>;

/** @returns a whole answer without what the model has said; undefined for a body that is none of this API. */
export function refusedWhole(body: Buffer, route: string): Buffer | undefined {
  let answer: Json | null;
  try {
    answer = JSON.parse(body.toString("utf8")) as Json | null;
  } catch {
    return undefined;
  }
  const refused = answer === null ? undefined : REFUSED[route]?.(answer);
  return refused === undefined ? undefined : Buffer.from(JSON.stringify(refused));
}

const REFUSED: Readonly<Record<string, (answer: Json) => Json | undefined>> = {
  "chat/completions": (answer) => withChoices(answer, { message: NOTHING_SAID }),
  completions: (answer) => withChoices(answer, { text: "" }),
  messages: (answer) => ({ ...answer, content: [], stop_reason: "refusal", stop_sequence: null }),
  responses: (answer) => ({ ...answer, output: [], ...INCOMPLETE }),
};
const NOTHING_SAID = { role: "assistant", content: null, refusal: null };
const INCOMPLETE = { status: "incomplete", incomplete_details: { reason: "content_filter" } };

function withChoices(answer: Json, said: Json): Json | undefined {
  const { choices } = answer;
  if (!Array.isArray(choices)) return undefined;
  const refused = choices.map((_, index) => ({
    index,
    ...said,
    logprobs: null,
    finish_reason: "content_filter",
  }));
  return { ...answer, choices: refused };
}

/** Follows what a caller has got of a stream, and ends it. */
export class RefusedStream {
  readonly #format: StreamFormat;
  /** Of the newest frame that has it: id, model and so on. */
  #envelope: Json | undefined;
  /** Chat: choices that have not finished. */
  readonly #choices = new Set<number>();
  /** Chat: these are legacy completions, whose choices have a text. */
  #isText = false;
  /** Messages: content blocks that are open. */
  readonly #blocks = new Set<number>();
  /** Responses: items that are complete, and the number of the next event. */
  readonly #items: unknown[] = [];
  #sequence = 0;

  constructor(format: StreamFormat) {
    this.#format = format;
  }

  /** @param frame that was released. */
  note(frame: Buffer): void {
    // A delta of a message changes nothing of it: not worth parsing once more.
    if (this.#format !== "anthropic-messages" || isOfStructure(frame)) this.#read(dataOf(frame));
  }

  /**
   * @param held the first frame that was not released: for its envelope, where the first chunk of a chat speaks already.
   * @returns frames that end the stream; undefined if it has not begun, so that nothing can be ended.
   */
  end(held: Buffer | undefined): Buffer | undefined {
    const isUnnamed = this.#format === "openai-chat" && this.#envelope === undefined;
    if (isUnnamed && held !== undefined) this.note(held);
    if (this.#envelope === undefined) return undefined;
    const frames = ENDINGS[this.#format](this.#state());
    return Buffer.from(frames);
  }

  #state(): StreamState {
    return {
      envelope: this.#envelope!,
      choices: [...this.#choices],
      isText: this.#isText,
      blocks: [...this.#blocks],
      items: this.#items,
      sequence: this.#sequence,
    };
  }

  #read(data: unknown): void {
    if (typeof data !== "object" || data === null) return;
    const fields = data as Json;
    if (this.#format === "openai-chat") this.#readChunk(fields);
    else if (this.#format === "anthropic-messages") this.#readMessage(fields);
    else this.#readResponse(fields);
  }

  #readChunk(fields: Json): void {
    const { choices, usage: _, ...envelope } = fields;
    this.#envelope ??= envelope;
    for (const choice of Array.isArray(choices) ? (choices as Json[]) : []) {
      const index = Number(choice.index ?? 0);
      this.#isText ||= typeof choice.text === "string";
      if (choice.finish_reason == null) this.#choices.add(index);
      else this.#choices.delete(index);
    }
  }

  #readMessage({ type, index, message }: Json): void {
    if (type === "message_start") this.#envelope = (message ?? {}) as Json;
    else if (type === "content_block_start") this.#blocks.add(Number(index));
    else if (type === "content_block_stop") this.#blocks.delete(Number(index));
  }

  #readResponse({ type, response, item, sequence_number: number }: Json): void {
    if (typeof number === "number") this.#sequence = number + 1;
    if (type === "response.output_item.done") this.#items.push(item);
    else if (response !== undefined) this.#envelope = response as Json;
  }
}

interface StreamState {
  readonly envelope: Json;
  readonly choices: readonly number[];
  readonly isText: boolean;
  readonly blocks: readonly number[];
  readonly items: readonly unknown[];
  readonly sequence: number;
}

const ENDINGS: Readonly<Record<StreamFormat, (state: StreamState) => string>> = {
  "openai-chat": ({ envelope, choices, isText }) => {
    const finishes = choices.map((index) => ({
      index,
      ...(isText ? { text: "" } : { delta: {} }),
      logprobs: null,
      finish_reason: "content_filter",
    }));
    const last = { ...envelope, choices: finishes };
    return `${finishes.length === 0 ? "" : dataFrame(last)}data: [DONE]\n\n`;
  },
  "anthropic-messages": ({ envelope, blocks }) => {
    const usage = (envelope.usage ?? {}) as { readonly output_tokens?: unknown };
    return [
      ...blocks.map((index) => ({ type: "content_block_stop", index })),
      {
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_sequence: null },
        usage: { output_tokens: usage.output_tokens ?? 0 },
      },
      { type: "message_stop" },
    ]
      .map((event) => `event: ${event.type}\n${dataFrame(event)}`)
      .join("");
  },
  "openai-responses": ({ envelope, items, sequence }) => {
    const type = "response.incomplete";
    const response = { ...envelope, output: items, ...INCOMPLETE };
    return `event: ${type}\n${dataFrame({ type, sequence_number: sequence, response })}`;
  },
};

function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function isOfStructure(frame: Buffer): boolean {
  return frame.includes("content_block_st") || frame.includes("message_start");
}
