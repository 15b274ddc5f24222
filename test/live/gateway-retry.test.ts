/** What the gateway does beyond one attempt, over real sockets; the rules themselves are tested in `policy/call`. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { answer } from "../support/http-call.ts";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  json,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const quick = { retry: { ...CALL_POLICY.retry, backoffBaseUs: 5_000 } };
const stream = '{"stream":true,"model":"m"}';
const whole: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  { bytes: chunk(chatText("Hello", "stop")) },
  { bytes: chunk(CHAT_DONE) },
  { bytes: LAST_CHUNK },
];
const overloaded = {
  type: "error",
  error: { type: "overloaded_error", message: "Overloaded" },
};

/** An upstream that answers each call in turn as scripted; the last script stays. */
function inTurn(...scripts: (readonly Step[])[]): () => readonly Step[] {
  let served = -1;
  return () => {
    served = Math.min(served + 1, scripts.length - 1);
    return scripts[served]!;
  };
}

describe("an error inside a 200", () => {
  const errorFirst: Step[] = [
    { bytes: EVENT_STREAM_HEAD },
    { bytes: chunk(`event: error\ndata: ${JSON.stringify(overloaded)}\n\n`) },
    { bytes: LAST_CHUNK },
  ];

  it("before content becomes a retry", async () => {
    const { messagesUrl, upstream } = await liveGateway(
      inTurn(errorFirst, [{ bytes: json(200, { id: "msg" }) }]),
      { policy: quick },
    );
    const { status, text } = await answer(messagesUrl, { body: stream });
    expect([status, text, upstream.hits.length]).toEqual([200, '{"id":"msg"}', 2]);
  });

  it("before content becomes a status in the upstream's own words, once no retry is left", async () => {
    const { messagesUrl, gateway } = await liveGateway(() => errorFirst);
    const { status, text, headers } = await answer(messagesUrl, { body: stream });
    expect([status, JSON.parse(text)]).toEqual([529, overloaded]);
    expect(headers["x-should-retry"]).toBe("false");
    expect(
      await requests(gateway, { route: "messages", status: 529, outcome: "stream_error" }),
    ).toBe(1);
  });

  it("in JSON is one too, and an answer that only looks like it is not", async () => {
    const error = { error: { message: "no memory", type: "server_error" } };
    const { chatUrl, upstream } = await liveGateway(
      inTurn([{ bytes: json(200, error) }], [{ bytes: json(200, { choices: [], error: null }) }]),
      { policy: quick },
    );
    const { status, text } = await answer(chatUrl, { body: "{}" });
    expect([status, text]).toEqual([200, '{"choices":[],"error":null}']);
    expect(upstream.hits).toHaveLength(2);
  });
});

describe("a refusal", () => {
  it("that is larger than any error is told in short, and not cut and passed for whole", async () => {
    const { chatUrl } = await liveGateway(() => [{ bytes: json(500, "x".repeat(400_000)) }]);
    const { status, text } = await answer(chatUrl, { body: "{}" });
    expect([status, JSON.parse(text).error.code]).toEqual([502, "MANX_UPSTREAM_ERROR"]);
  });

  it("of a caller's own making is passed on at once", async () => {
    const wrong = { error: { message: "no such model", type: "invalid_request_error" } };
    const { chatUrl, upstream } = await liveGateway(() => [{ bytes: json(404, wrong) }], {
      policy: quick,
    });
    const { status, text } = await answer(chatUrl, { body: "{}" });
    expect([status, JSON.parse(text), upstream.hits.length]).toEqual([404, wrong, 1]);
  });
});

describe("an upstream that only fails", () => {
  it("is left alone for a while: callers are told at once, and when to come back", async () => {
    const breaker = { ...CALL_POLICY.breaker!, callsMin: 3, openUs: 30_000_000 };
    const retry = { ...CALL_POLICY.retry, attemptsMax: 1 };
    const { chatUrl, upstream, gateway } = await liveGateway(() => [{ bytes: json(500, {}) }], {
      policy: { breaker, retry },
    });
    for (let i = 0; i < 3; i += 1) expect((await answer(chatUrl)).status).toBe(500);
    const { status, text, headers } = await answer(chatUrl);
    expect([status, JSON.parse(text).error.code]).toEqual([503, "MANX_NO_TARGET"]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(20);
    expect(upstream.hits).toHaveLength(3);
    expect(await requests(gateway, { status: 503, outcome: "no_target" })).toBe(1);
  });
});

describe("a deadline", () => {
  it("ends all attempts together, before content with a 504", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => [], { policy: quick });
    const made = await answer(chatUrl, { body: stream, headers: { "x-manx-deadline-ms": "150" } });
    expect([made.status, JSON.parse(made.text).error.code]).toEqual([504, "MANX_DEADLINE"]);
    expect(upstream.hits).toHaveLength(1);
    expect(await requests(gateway, { status: 504, outcome: "deadline" })).toBe(1);
  });

  it("ends a running stream with an error event", async () => {
    const { chatUrl } = await liveGateway(() => [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(chatText("a")) },
    ]);
    const { status, text } = await answer(chatUrl, {
      body: stream,
      headers: { "x-manx-deadline-ms": "200" },
    });
    expect(status).toBe(200);
    expect(text).toContain("MANX_DEADLINE");
    expect(text).not.toContain("[DONE]");
  });

  it("is taken from an SDK's own time-out where that bounds the whole call", async () => {
    const { gateway } = await liveGateway(() => []);
    const openai = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: "x",
      timeout: 1_000,
      maxRetries: 0,
    });
    await openai.chat.completions.create({ model: "m", messages: [] }).catch(() => undefined);
    await until(() => gateway.inFlight() === 0);
    const deadline = await requests(gateway, { status: 504, outcome: "deadline" });
    const left = await requests(gateway, { status: 0, outcome: "client_cancelled" });
    expect(deadline + left).toBe(1);
  });

  it.each(["0", "-1", "1.5", "soon", "99999999999"])("of %j is refused", async (deadline) => {
    const { chatUrl, upstream } = await liveGateway(() => whole);
    const { status } = await answer(chatUrl, {
      body: stream,
      headers: { "x-manx-deadline-ms": deadline },
    });
    expect([status, upstream.hits.length]).toEqual([400, 0]);
  });
});

describe("a responses stream that is cut", () => {
  it("ends with an error that OpenAI's client throws", async () => {
    const { gateway } = await liveGateway(() => [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(responsesEvent("response.created", { response: { id: "r", model: "m" } })) },
      {
        bytes: chunk(
          responsesEvent("response.output_text.delta", { delta: "Hel", output_index: 0 }),
        ),
      },
      { afterMs: 20, end: "rst" },
    ]);
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
    const stream = await openai.responses.create({ model: "m", input: "hi", stream: true });
    let text = "";
    const read = async (): Promise<void> => {
      for await (const event of stream) {
        if (event.type === "response.output_text.delta") text += event.delta;
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "MANX_STREAM_INCOMPLETE" });
    expect(text).toBe("Hel");
  });
});

function responsesEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

describe("a body", () => {
  it("that is compressed is refused before it is unpacked", async () => {
    const { chatUrl, upstream } = await liveGateway(() => whole);
    const made = await answer(chatUrl, { body: stream, headers: { "content-encoding": "gzip" } });
    expect([made.status, JSON.parse(made.text).error.code]).toEqual([415, "MANX_REQUEST_ENCODED"]);
    expect(upstream.hits).toHaveLength(0);
  });

  it.each([
    ['{"model":"a","model":"b"}', "each key once"],
    ['{"model":"a","mod\\u0065l":"b"}', "each key once"],
    ['{"model":7}', "a name"],
    ['{"model":"a"', "more"],
    ["[]", "an object"],
    ['{"a":1}{"b":2}', "the end"],
    ['{"a":"x', "the end of a string"],
  ])("%s is refused: expected %s", async (body, expected) => {
    const { chatUrl, upstream } = await liveGateway(() => whole);
    const made = await answer(chatUrl, { body });
    expect([made.status, JSON.parse(made.text).error.code]).toEqual([400, "MANX_REQUEST_INVALID"]);
    expect(JSON.parse(made.text).error.message).toContain(expected);
    expect(upstream.hits).toHaveLength(0);
  });
});

describe("a silent model", () => {
  it("gets its head sent alone once the gate opens, and its content after", async () => {
    const { chatUrl } = await liveGateway(
      () => [{ bytes: EVENT_STREAM_HEAD }, { afterMs: 1_500 }, ...whole.slice(1)],
      { policy: { gateUs: 60_000 } },
    );
    const sentMs = performance.now();
    const { answerHead, made } = await headOf(chatUrl);
    expect(answerHead - sentMs).toBeLessThan(1_300);
    const { text } = await made;
    expect(text.trim().endsWith("data: [DONE]")).toBe(true);
  });
});

async function headOf(
  url: string,
): Promise<{ answerHead: number; made: Promise<{ text: string }> }> {
  const response = await fetch(url, { method: "POST", body: stream });
  const answerHead = performance.now();
  return { answerHead, made: response.text().then((text) => ({ text })) };
}
