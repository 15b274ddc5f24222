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
      delivery.token(index);
      index += 1;
    }
    expect(stuck.destroyed).toBe(true);
    const { length } = stuck.written;
    expect(length).toBeGreaterThan(4 * 2 ** 20);
    expect(length).toBeLessThan(4 * 2 ** 20 + 1_000);
    delivery.token(index);
    delivery.end(0);
    delivery.fail(new ManxError("MANX_INTERNAL"));
    expect(stuck.written).toHaveLength(length);
  });

  it("tells an error as an event once the head has gone", () => {
    const { parts, stuck } = makeParts(3);
    const delivery = new StreamDelivery(parts, false);
    delivery.accepted();
    delivery.token(0);
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
    delivery.token();
    expect(stuck.status).toBe(0);
    delivery.fail(new ManxError("MANX_DRAINING"));
    expect(stuck.status).toBe(503);
  });
});
