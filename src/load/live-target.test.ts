import { afterEach, describe, expect, it } from "vitest";
import {
  anthropicEvent,
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  json,
  LAST_CHUNK,
  type ReplayServer,
  type Step,
  startReplayServer,
} from "../../test/support/replay-server.ts";
import { RealClock } from "../clock/index.ts";
import { LiveTarget, type LiveTargetOptions, parseBaseUrl } from "./live-target.ts";
import { loadApi } from "./request-body.ts";
import { servedModel } from "./served-model.ts";
import type { Outcome } from "./target.ts";

const clock = new RealClock();
const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(...script: Step[]): Promise<ReplayServer> {
  const server = await startReplayServer(() => script);
  closing.push(() => server.close());
  return server;
}

function targetOf(url: string, options: Partial<LiveTargetOptions> = {}): LiveTarget {
  const target = new LiveTarget({ url, clock, model: "m", nonce: "n", seed: 1, ...options });
  closing.push(() => target.close());
  return target;
}

function send(target: LiveTarget, index = 0): Promise<Outcome> {
  const request = { atUs: 0, promptTokens: 5, outputTokens: 7, row: 0 };
  return new Promise((resolve) => {
    target.send({ request, index, intendedUs: clock.nowUs() }, resolve);
  });
}

const usage = {
  prompt_tokens: 5,
  completion_tokens: 2,
  prompt_tokens_details: { cached_tokens: 4 },
};
const USAGE = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;

function stream(text: string): Step {
  return {
    bytes: Buffer.concat([Buffer.from(EVENT_STREAM_HEAD), chunk(text), Buffer.from(LAST_CHUNK)]),
  };
}

describe("a stream that ends well", () => {
  const good = stream(chatText("one ") + chatText("two", "stop") + USAGE + CHAT_DONE);

  it("has its times, its tokens as the server counted them, and its connection", async () => {
    const server = await serve(good);
    const target = targetOf(server.url);
    const first = await send(target);
    expect(first).toMatchObject({
      failure: null,
      outputTokens: 2,
      promptTokens: 5,
      cachedTokens: 4,
      connection: "new",
    });
    const { stream: times, sentUs, headersUs, endUs } = first;
    // Both chunks came in one read, so the gap is 0 and not unknown.
    expect(times!.chunkGapsUs).toEqual([0]);
    expect(times!.ttftUs!).toBeGreaterThan(0);
    expect(sentUs! <= headersUs! && headersUs! <= endUs).toBe(true);
    expect((await send(target, 1)).connection).toBe("reused");
    expect(server.connections).toBe(1);
  });

  it("asks as the API wants it, and names the request", async () => {
    const server = await serve(good);
    await send(
      targetOf(`${server.url}/v1/`, { apiKey: "k", exactOutput: true, headers: { "x-a": "b" } }),
      3,
    );
    const { method, path, headers, body } = server.hits[0]!;
    expect([method, path]).toEqual(["POST", "/v1/chat/completions"]);
    expect(headers).toMatchObject({ authorization: "Bearer k", "x-a": "b", "x-request-id": "n-3" });
    expect(JSON.parse(body)).toMatchObject({
      model: "m",
      max_tokens: 7,
      min_tokens: 7,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: "user", content: expect.stringMatching(/^n-3( \w+){4}$/) }],
    });
  });

  it("opens a connection for each request in a cold run", async () => {
    const server = await serve(good);
    const target = targetOf(server.url, { cold: true });
    expect((await send(target)).connection).toBe("new");
    expect((await send(target, 1)).connection).toBe("new");
    expect(server.connections).toBe(2);
  });

  it("finds connections open after warming", async () => {
    const server = await serve(good);
    const target = targetOf(server.url);
    expect(await target.warm(3)).toBe(3);
    expect(await send(target)).toMatchObject({ connection: "reused", failure: null });
    expect(server.connections).toBe(3);
    expect(server.hits).toHaveLength(1);
  });

  it("is read on Anthropic's API too", async () => {
    const server = await serve(
      stream(
        anthropicEvent("message_start", {
          message: { id: "a", model: "m", usage: { input_tokens: 9 } },
        }) +
          anthropicEvent("content_block_start", {
            index: 0,
            content_block: { type: "text", text: "" },
          }) +
          anthropicEvent("content_block_delta", {
            index: 0,
            delta: { type: "text_delta", text: "hi" },
          }) +
          anthropicEvent("content_block_stop", { index: 0 }) +
          anthropicEvent("message_delta", {
            delta: { stop_reason: "end_turn" },
            usage: { output_tokens: 1 },
          }) +
          anthropicEvent("message_stop", {}),
      ),
    );
    const outcome = await send(targetOf(server.url, { api: "anthropic", apiKey: "k" }));
    expect(outcome).toMatchObject({ failure: null, outputTokens: 1, promptTokens: 9 });
    expect(server.hits[0]).toMatchObject({
      path: "/v1/messages",
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    });
  });
});

describe("a response that is no success", () => {
  const cases: readonly (readonly [string, Step[], Outcome["failure"]])[] = [
    ["429", [{ bytes: json(429, { error: {} }) }], "http-429"],
    ["503", [{ bytes: json(503, {}) }], "http-503"],
    ["a redirect", [{ bytes: head(307, { location: "/x", "content-length": "0" }) }], "http-307"],
    ["an end before any response", [{ end: "fin" }], "connection-lost"],
    ["a reset before any response", [{ end: "rst" }], "connection-lost"],
    [
      "a stream cut between frames",
      [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("one")) }, { afterMs: 5, end: "rst" }],
      "stream-incomplete",
    ],
    ["a stream that HTTP ends early", [stream(chatText("one"))], "stream-incomplete"],
    [
      "an error inside a 200",
      [stream(`${chatText("one")}data: {"error":{"message":"overloaded"}}\n\n`)],
      "in-band-error",
    ],
    ["JSON where a stream was asked for", [{ bytes: json(200, {}) }], "malformed"],
    ["silence", [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("one")) }], "timeout"],
  ];
  for (const [name, script, failure] of cases) {
    it(`${name} is ${failure}`, async () => {
      const server = await serve(...script);
      const timeoutUs = failure === "timeout" ? 200_000 : 10_000_000;
      const target = targetOf(server.url, { timeoutUs });
      expect((await send(target)).failure).toBe(failure);
      // And nothing is tried again behind the caller's back.
      expect(server.hits).toHaveLength(1);
      expect((await send(target, 1)).failure).toBe(failure);
    });
  }

  it("keeps the first token of a stream that timed out apart", async () => {
    const server = await serve({ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("one")) });
    const outcome = await send(targetOf(server.url, { timeoutUs: 300_000 }));
    expect(outcome.stream!.ttftUs!).toBeGreaterThan(0);
    expect(outcome.endUs - outcome.sentUs!).toBeGreaterThanOrEqual(290_000);
  });

  it("says connect where nobody listens, and goes on", async () => {
    const server = await startReplayServer(() => []);
    await server.close();
    const target = targetOf(server.url);
    for (const index of [0, 1]) {
      expect(await send(target, index)).toMatchObject({
        failure: "connect",
        sentUs: null,
        connection: null,
      });
    }
    await expect(target.check()).rejects.toMatchObject({ code: "MANX_TARGET_DOWN" });
  });

  it("is empty if a whole stream has no output", async () => {
    const server = await serve(stream(chatText("", "stop") + CHAT_DONE));
    const outcome = await send(targetOf(server.url));
    expect(outcome.failure).toBeNull();
    expect(outcome.stream!.ttftUs).toBeNull();
  });
});

describe("whole answers", () => {
  it("have an end and a count, and no first token", async () => {
    const server = await serve({ bytes: json(200, { choices: [], usage }) });
    const outcome = await send(targetOf(server.url, { stream: false }));
    expect(outcome).toMatchObject({ failure: null, stream: null, outputTokens: 2 });
    expect(JSON.parse(server.hits[0]!.body).stream).toBeUndefined();
  });

  it("are malformed if they are no JSON, and lost if cut", async () => {
    const text = await serve({ bytes: `${head(200, { "content-length": "2" })}hi` });
    expect((await send(targetOf(text.url, { stream: false }))).failure).toBe("malformed");
    const cut = await serve({ bytes: `${head(200, { "content-length": "9" })}hi`, end: "fin" });
    expect((await send(targetOf(cut.url, { stream: false }))).failure).toBe("stream-incomplete");
  });
});

describe("a limit on connections", () => {
  it("makes requests wait, shows the wait, and answers them all", async () => {
    const server = await serve({ afterMs: 20, ...stream(chatText("x", "stop") + CHAT_DONE) });
    const target = targetOf(server.url, { connectionsMax: 2 });
    const startUs = clock.nowUs();
    const outcomes = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => send(target, index)));
    expect(outcomes.map(({ failure }) => failure)).toEqual([null, null, null, null, null, null]);
    expect(server.connections).toBe(2);
    expect(
      outcomes.filter(({ sentUs }) => sentUs! - startUs >= 19_000).length,
    ).toBeGreaterThanOrEqual(4);
  });
});

describe("servedModel", () => {
  const of = (url: string) => servedModel({ url, clock, api: loadApi("openai") });

  it("is the first of the list", async () => {
    const server = await serve({ bytes: json(200, { data: [{ id: "a" }, { id: "b" }] }) });
    expect(await of(`${server.url}/v1`)).toBe("a");
    expect(server.hits[0]!.path).toBe("/v1/models");
  });

  it("asks for --model where there is none", async () => {
    const server = await serve({ bytes: json(404, { error: {} }) });
    await expect(of(server.url)).rejects.toMatchObject({ code: "MANX_FLAG_MISSING" });
  });
});

it("takes no URL with a password or a query, and does not repeat them", () => {
  expect(() => parseBaseUrl("ftp://x")).toThrow(/not a usable URL/);
  for (const url of ["http://me:hunter2@x", "https://x/v1?key=hunter2", "http://x/#hunter2"]) {
    try {
      parseBaseUrl(url);
      expect.unreachable();
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "MANX_URL" });
      expect(JSON.stringify(thrown)).not.toContain("hunter2");
    }
  }
});
