import { describe, expect, it } from "vitest";
import {
  CHAT_URL,
  call,
  chatBody,
  chatScript,
  fetchWorld,
  refusal,
} from "../../../test/support/fetch-world.ts";

const whole = (chatScript(5).chunks ?? []).map(([, text]) => text).join("");

describe("what is no call of a model", () => {
  it.each<[string, Parameters<typeof fetch>[0], RequestInit]>([
    ["a list of models", "https://api.example.com/v1/models", {}],
    ["a body that is no JSON", CHAT_URL, { method: "POST", body: "stream me" }],
    [
      "a body that is JSON in two ways",
      CHAT_URL,
      { method: "POST", body: '{"model":"a","model":"b"}' },
    ],
    ["a form", CHAT_URL, { method: "POST", body: new URLSearchParams({ a: "b" }) }],
    ["an unknown path", "https://api.example.com/v1/batches", chatBody()],
    // Paths that end like a model's, of calls that act: to make them twice would do it twice.
    [
      "a message of a thread",
      "https://api.example.com/v1/threads/thread_1/messages",
      { method: "POST", body: '{"role":"user","content":"hi"}' },
    ],
    [
      "a tool call of an MCP server",
      "https://mcp.example.com/messages?sessionId=1",
      { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}' },
    ],
    [
      "an answer to a survey",
      "https://forms.example.com/v1/responses",
      { method: "POST", body: '{"answer":1}' },
    ],
  ])("is passed through once: %s", async (_, url, init) => {
    const world = fetchWorld(() => refusal(503));
    const run = world.manx();
    const seen = call(world, run, init, url);
    await world.clock.run();
    expect([world.hits.length, seen.response?.status, run.stats().passed]).toEqual([1, 503, 1]);
  });

  it("ends with the deadline as well", async () => {
    const world = fetchWorld(() => ({ headMs: Number.POSITIVE_INFINITY }));
    const seen = call(
      world,
      world.manx({ deadline: "2s" }),
      {},
      "https://api.example.com/v1/models",
    );
    await world.clock.run();
    expect(seen.settledMs).toBe(2_000);
    expect(seen.rejected).toMatchObject({ name: "TimeoutError" });
  });
});

describe("what a caller may give", () => {
  it("is a URL, a Request or bytes", async () => {
    const forms: [Parameters<typeof fetch>[0], RequestInit][] = [
      [new URL(CHAT_URL), chatBody()],
      [new Request(CHAT_URL, chatBody()), {}],
      [CHAT_URL, { ...chatBody(), body: new TextEncoder().encode(chatBody().body as string) }],
    ];
    for (const [input, init] of forms) {
      const world = fetchWorld((__, number) => (number === 0 ? refusal(503) : chatScript(5)));
      const seen = call(world, world.manx(), init, input);
      await world.clock.run();
      // A Request's body is read in the host's own time.
      await new Promise((resolve) => setTimeout(resolve, 5));
      await world.clock.run();
      expect(world.hits.map(({ body }) => body)).toEqual([chatBody().body, chatBody().body]);
      expect(seen.text).toBe(whole);
    }
  });
});
