import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { ManxError } from "../core/index.ts";
import { Answer } from "./answer.ts";
import { parseChatRequest } from "./call-request.ts";
import { type DeliveryParts, StreamDelivery, WholeDelivery } from "./delivery.ts";
import { ChatForm } from "./response-form.ts";

/** Takes what is written and never sends it, as a socket does whose client has stopped reading. */
class StuckResponse {
  written = "";
  headersSent = false;
  destroyed = false;
  status = 0;
  get writableLength(): number {
    return this.written.length;
  }
  writeHead(status: number): this {
    this.status = status;
    return this;
  }
  flushHeaders(): void {
    this.headersSent = true;
  }
  write(text: string): boolean {
    this.written += text;
    return false;
  }
  end(text: string): void {
    this.written += text;
    this.destroyed = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

function makeParts(tokens: number): { parts: DeliveryParts; stuck: StuckResponse } {
  const stuck = new StuckResponse();
  const messages = [{ role: "user", content: "hello" }];
  const request = parseChatRequest({ messages, manx: { output_tokens: tokens } });
  const parts: DeliveryParts = {
    response: stuck as unknown as ServerResponse,
    form: new ChatForm({ id: "chatcmpl-1", model: "twin", createdS: 0 }),
    answer: new Answer(request, 1_000_000, 1),
    promptTokens: 1,
  };
  return { parts, stuck };
}

describe("StreamDelivery", () => {
  it("cuts a reader that does not read once 4 MiB wait, and writes nothing more", () => {
    const { parts, stuck } = makeParts(100_000);
    const delivery = new StreamDelivery(parts, false);
    delivery.accepted();
    let index = 0;
    while (!stuck.destroyed && index < 100_000) {
      delivery.tokens(index, index + 1);
      index += 1;
    }
    expect(stuck.destroyed).toBe(true);
    const { length } = stuck.written;
    expect(length).toBeGreaterThan(4 * 2 ** 20);
    expect(length).toBeLessThan(4 * 2 ** 20 + 1_000);
    delivery.tokens(index, index + 1);
    delivery.end(0);
    delivery.fail(new ManxError("MANX_INTERNAL"));
    expect(stuck.written).toHaveLength(length);
  });

  it("puts all that a step brought into one chunk, text and calls in their places", () => {
    const { stuck } = makeParts(1);
    const manx = { output_tokens: 3, tool_calls: [{ name: "f", arguments: { city: "Douglas" } }] };
    const request = parseChatRequest({ messages: [{ role: "user", content: "hello" }], manx });
    const answer = new Answer(request, 1_000, 1);
    const form = new ChatForm({ id: "chatcmpl-1", model: "twin", createdS: 0 });
    const response = stuck as unknown as ServerResponse;
    const delivery = new StreamDelivery({ response, form, answer, promptTokens: 1 }, false);
    delivery.accepted();
    for (let at = 0; at < answer.tokens; at += 5) {
      delivery.tokens(at, Math.min(answer.tokens, at + 5));
    }
    delivery.end(0);
    const events = [...stuck.written.matchAll(/^data: ({.*})$/gm)].map(([, json]) =>
      JSON.parse(json!),
    );
    // The role, nine tokens in chunks of up to five, and the end.
    expect(answer.tokens).toBe(9);
    expect(events).toHaveLength(4);
    const deltas = events.map(({ choices }) => choices[0].delta);
    expect(deltas[1].content.split(" ")).toHaveLength(3);
    expect(deltas[1].tool_calls).toEqual([
      {
        index: 0,
        id: expect.any(String),
        type: "function",
        function: { name: "f", arguments: '{"ci' },
      },
    ]);
    const rest = deltas[2].tool_calls[0];
    expect(rest).toEqual({ index: 0, function: { arguments: 'ty":"Douglas"}' } });
  });

  it("tells an error as an event once the head has gone", () => {
    const { parts, stuck } = makeParts(3);
    const delivery = new StreamDelivery(parts, false);
    delivery.accepted();
    delivery.tokens(0, 1);
    delivery.fail(new ManxError("MANX_DRAINING"));
    expect(stuck.status).toBe(200);
    expect(stuck.written).toMatch(/\n\ndata: {"error":{.*"manx_code":"MANX_DRAINING"}}\n\n$/);
  });
});

describe("WholeDelivery", () => {
  it("answers with the error's own status", () => {
    const { parts, stuck } = makeParts(3);
    const delivery = new WholeDelivery(parts);
    delivery.accepted();
    delivery.tokens();
    expect(stuck.status).toBe(0);
    delivery.fail(new ManxError("MANX_DRAINING"));
    expect(stuck.status).toBe(503);
  });
});
