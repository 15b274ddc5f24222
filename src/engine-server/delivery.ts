/**
 * How an answer leaves: as a stream, a chunk for each step that brings tokens, or whole at its end. All that one step of the engine brings for one
 * response goes out in one write of its socket: Node corks a chunked response until the end of the tick, and a step
 * settles in one tick.
 */
import type { ServerResponse } from "node:http";
import type { ManxError } from "../core/index.ts";
import { sendJson } from "../http/index.ts";
import type { Answer, Piece } from "./answer.ts";
import { apiErrorBody, sendApiError } from "./api-error.ts";
import type { ResponseForm, Usage } from "./response-form.ts";

export interface Delivery {
  /** The engine has taken the request. */
  accepted(): void;
  /** A step has brought tokens `from` to below `to`, counted from 0: one, or several with drafts. */
  tokens(from: number, to: number): void;
  /** The engine is done with the request; it had found `cachedTokens` of the prompt in its prefix cache. */
  end(cachedTokens: number): void;
  fail(error: ManxError): void;
}

export interface DeliveryParts {
  readonly response: ServerResponse;
  readonly form: ResponseForm;
  readonly answer: Answer;
  readonly promptTokens: number;
}

export function usageOf({ promptTokens, answer }: DeliveryParts, cachedTokens: number): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answer.tokens,
    total_tokens: promptTokens + answer.tokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** A reader that is this far behind has stopped reading; its response is cut, since what it misses can only grow. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;

export class StreamDelivery implements Delivery {
  readonly #parts: DeliveryParts;
  readonly #includeUsage: boolean;

  constructor(parts: DeliveryParts, includeUsage: boolean) {
    this.#parts = parts;
    this.#includeUsage = includeUsage;
  }

  /** The head goes out now, as vLLM's does: a client's TTFB says nothing about its TTFT. */
  accepted(): void {
    const { response } = this.#parts;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      // Tells nginx and its like not to gather the stream into lumps.
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
  }

  tokens(from: number, to: number): void {
    const { response, form, answer } = this.#parts;
    if (response.destroyed) return;
    if (response.writableLength > UNREAD_BYTES_MAX) {
      response.destroy();
      return;
    }
    const pieces: Piece[] = [];
    for (let index = from; index < to; index += 1) pieces.push(answer.piece(index));
    const chunk = form.chunk(pieces);
    response.write(from === 0 ? form.open() + chunk : chunk);
  }

  end(cachedTokens: number): void {
    const { response, form, answer } = this.#parts;
    if (response.destroyed) return;
    const usageChunk = this.#includeUsage ? form.usage(usageOf(this.#parts, cachedTokens)) : "";
    response.end(`${form.finish(answer.finish)}${usageChunk}data: [DONE]\n\n`);
  }

  /** After the 200 an error can only come as an event, as vLLM does it. */
  fail(error: ManxError): void {
    const { response } = this.#parts;
    if (response.destroyed) return;
    response.end(`data: ${JSON.stringify(apiErrorBody(error))}\n\n`);
  }
}

export class WholeDelivery implements Delivery {
  readonly #parts: DeliveryParts;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  accepted(): void {
    // Nothing is sent before the answer is complete.
  }

  tokens(): void {
    // Kept back until the end.
  }

  end(cachedTokens: number): void {
    const { response, form, answer } = this.#parts;
    sendJson(response, 200, form.whole(answer, usageOf(this.#parts, cachedTokens)));
  }

  fail(error: ManxError): void {
    sendApiError(this.#parts.response, error);
  }
}
