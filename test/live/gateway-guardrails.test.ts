/** Guardrails over real sockets: both APIs, streams and not, official clients; checks that are slow, down and in doubt. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer, call } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  head,
  json,
  LAST_CHUNK,
  messagesStream,
  type ReplayServer,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

const CARD = "4111 1111 1111 1111";
const CARDS = {
  name: "cards",
  stage: "output",
  kind: "pattern",
  patterns: ["\\b\\d{4}( ?\\d{4}){3}\\b"],
};
const ask = { messages: [{ role: "user" as const, content: "What is her number?" }] };

async function server(script: (hit: Hit) => readonly Step[]): Promise<ReplayServer> {
  const started = await startReplayServer(script);
  onTestFinished(() => started.close());
  return started;
}

async function guarded(
  script: (hit: Hit) => readonly Step[],
  guardrails: readonly object[],
  more: object = {},
) {
  const upstream = await server(script);
  const { gateway } = await configuredGateway({
    upstreams: [{ name: "up", url: upstream.url, format: "any" }],
    policies: { default: { retry: { attempts: 1 } } },
    guardrails,
    ...more,
  });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
  return { upstream, gateway, openai, anthropic };
}

/** A chat stream of these texts, each in a write of its own. */
function chat(texts: readonly string[], gapMs = 0): Step[] {
  return [
    { bytes: EVENT_STREAM_HEAD },
    ...texts.map((text) => ({ afterMs: gapMs, bytes: chunk(chatText(text)) })),
    { bytes: chunk(chatText("", "stop") + CHAT_DONE) },
    { bytes: LAST_CHUNK },
  ];
}

function message(texts: readonly string[]): Step[] {
  return messagesStream({ texts, inputTokens: 5, outputTokens: 9 });
}

/** A classifier that says so after so long; infinite: never. */
function classifier(verdict: unknown, afterMs = 0): Promise<ReplayServer> {
  return server(() => (afterMs === Infinity ? [] : [{ afterMs, bytes: json(200, verdict) }]));
}

describe("an answer with bad text", () => {
  const before = "Her number is ".padEnd(200, ".");

  it("ends a chat as content_filter, with nothing of it, wherever the upstream parts it", async () => {
    for (let at = 1; at < CARD.length; at += 5) {
      const texts = [before, CARD.slice(0, at), CARD.slice(at), " and so on"];
      const { openai, gateway } = await guarded(() => chat(texts), [CARDS]);
      const stream = await openai.chat.completions.create({ model: "m", stream: true, ...ask });
      let text = "";
      let finish: string | null = null;
      for await (const { choices, id } of stream) {
        text += choices[0]?.delta.content ?? "";
        finish = choices[0]?.finish_reason ?? finish;
        expect(id).toBe("c");
      }
      expect(text).toBe(before.slice(0, text.length));
      expect(finish).toBe("content_filter");
      const series = 'manx_gateway_requests_total{route="chat/completions",status="200",outcome';
      expect(await metric(gateway, `${series}="guard_refused"}`)).toBe(1);
    }
  });

  it("ends a message as a refusal that Anthropic's client takes", async () => {
    const { anthropic } = await guarded(() => message([before, CARD, " and so on"]), [CARDS]);
    const stream = anthropic.messages.stream({ model: "m", max_tokens: 99, ...ask });
    const final = await stream.finalMessage();
    expect(final.stop_reason).toBe("refusal");
    expect(JSON.stringify(final.content)).not.toContain("4111");
  });

  it("that is no stream keeps its form and loses what was said", async () => {
    const whole = {
      ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
      choices: [{ index: 0, message: { role: "assistant", content: CARD }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
    };
    const { openai } = await guarded(() => [{ bytes: json(200, whole) }], [CARDS]);
    const made = await openai.chat.completions.create({ model: "m", ...ask });
    expect(made.choices[0]).toMatchObject({
      finish_reason: "content_filter",
      message: { content: null },
    });
    expect(made.usage?.total_tokens).toBe(14);
  });

  it("in the arguments of a call is never released in part", async () => {
    const part = (delta: object, finish: string | null = null): string => {
      const choices = [{ index: 0, delta, finish_reason: finish }];
      return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
    };
    const args = (json: string): object => ({
      tool_calls: [{ index: 0, function: { arguments: json } }],
    });
    const start = { index: 0, id: "call_1", type: "function", function: { name: "pay" } };
    const script = (number: string): Step[] => [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(part({ role: "assistant", content: "One moment." })) },
      { bytes: chunk(part({ tool_calls: [start] })) },
      { bytes: chunk(part(args('{"card":"'))) },
      { bytes: chunk(part(args(`${number}"}`))) },
      { bytes: chunk(part({}, "tool_calls") + CHAT_DONE) },
      { bytes: LAST_CHUNK },
    ];
    for (const isBad of [true, false]) {
      const number = isBad ? CARD : "none";
      const { gateway } = await guarded(() => script(number), [CARDS]);
      const url = `${gateway.url}/v1/chat/completions`;
      const { text } = await answer(url, { body: JSON.stringify({ ...ask, stream: true }) });
      expect(text.includes("tool_calls")).toBe(!isBad);
      expect(text).toContain("One moment.");
      expect(text).toContain(isBad ? "content_filter" : "none");
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    }
  });

  it("is found in what a translated upstream says as well", async () => {
    const upstream = await server(() => message([before, CARD]));
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "claude", url: upstream.url, format: "anthropic" }],
      guardrails: [CARDS],
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
    const stream = await openai.chat.completions.create({ model: "m", stream: true, ...ask });
    const chunks = [];
    for await (const one of stream) chunks.push(one);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("content_filter");
    expect(JSON.stringify(chunks)).not.toContain("4111");
  });
});

describe("a clean answer", () => {
  it("goes out byte for byte", async () => {
    const texts = Array.from({ length: 40 }, (_, i) => `word ${i} `);
    const script = chat(texts, 1);
    const sent = texts.map((text) => chatText(text)).join("") + chatText("", "stop") + CHAT_DONE;
    const { gateway } = await guarded(() => script, [CARDS], { guardrailWindow: { overlap: 20 } });
    const url = `${gateway.url}/v1/chat/completions`;
    const { text } = await answer(url, { body: JSON.stringify({ ...ask, stream: true }) });
    expect(text).toBe(sent);
    const series = 'manx_gateway_guard_last_held_seconds_count{model="*",path="clean"}';
    expect(await metric(gateway, series)).toBe(1);
  });
});

describe("a check of the request", () => {
  const injection = (url: string, more: object = {}): object => ({
    ...{ name: "injection", stage: "request", kind: "http", url, ...more },
  });

  it("that refuses is an error that names it, and the upstream is left at once", async () => {
    const judge = await classifier({ verdict: "flag" }, 30);
    const { openai, upstream, gateway } = await guarded(
      () => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("Sure")) }],
      [injection(judge.url)],
    );
    const refused = openai.chat.completions.create({ model: "m", stream: true, ...ask });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: "MANX_GUARD_REFUSED",
      message: expect.stringContaining('"injection"'),
      error: { guardrails: [{ name: "injection", stage: "request", verdict: "flag" }] },
    });
    expect(JSON.parse(judge.hits[0]!.body)).toEqual({ input: "What is her number?" });
    await upstream.hits[0]!.closed;
    await until(() => gateway.inFlight() === 0);
  });

  it("reads the forms that moderation APIs answer in", async () => {
    for (const [verdict, status] of [
      [{ results: [{ flagged: false }] }, 200],
      [{ results: [{ flagged: true }] }, 400],
      [{ flagged: false }, 200],
      [{ nonsense: 1 }, 503],
    ] as const) {
      const judge = await classifier(verdict);
      const { gateway } = await guarded(() => chat(["Hi"]), [injection(judge.url)]);
      const url = `${gateway.url}/v1/chat/completions`;
      const made = await answer(url, { body: JSON.stringify({ ...ask, stream: true }) });
      expect(made.status).toBe(status);
    }
  });

  it("that is down, or never answers, counts as its policy says after its budget", async () => {
    for (const onFailure of ["open", "closed"] as const) {
      const silent = await classifier({}, Infinity);
      for (const url of [silent.url, "http://127.0.0.1:9/check"]) {
        const { gateway } = await guarded(
          () => chat(["Hi"]),
          [injection(url, { onFailure, budget: "100ms" })],
        );
        const made = await answer(`${gateway.url}/v1/chat/completions`, {
          body: JSON.stringify({ ...ask, stream: true }),
        });
        expect(made.status).toBe(onFailure === "open" ? 200 : 503);
        if (onFailure === "closed") expect(made.text).toContain("MANX_GUARD_FAILED");
      }
    }
  });

  it("is given up when the client leaves", async () => {
    const silent = await classifier({}, Infinity);
    const { gateway, upstream } = await guarded(
      () => [{ bytes: EVENT_STREAM_HEAD }],
      [injection(silent.url, { budget: "60s" })],
    );
    const url = `${gateway.url}/v1/chat/completions`;
    const made = call(url, { body: JSON.stringify({ ...ask, stream: true }) });
    const asked = await silent.hit(1);
    await upstream.hit(1);
    made.abort();
    await asked.closed;
    await upstream.hits[0]!.closed;
    await until(() => gateway.inFlight() === 0);
    expect(silent.openConnections).toBe(0);
  });
});

describe("a cascade", () => {
  it("asks a model of the gateway only where a pattern is unsure", async () => {
    const judgement = { choices: [{ index: 0, message: { role: "assistant", content: "Yes." } }] };
    const asked: string[] = [];
    const judge = await server(({ body }) => {
      asked.push(body);
      return [{ bytes: json(200, judgement) }];
    });
    const upstream = await server(({ body }) => {
      return chat([body.includes("pain") ? "Take two pills." : "It is sunny."]);
    });
    const { gateway } = await configuredGateway({
      upstreams: [
        { name: "up", url: upstream.url },
        { name: "judge", url: judge.url },
      ],
      models: [
        { name: "m", targets: ["up"] },
        { name: "judge", targets: ["judge"] },
      ],
      guardrails: [
        {
          ...{ name: "medical-words", stage: "output", kind: "pattern" },
          ...{ patterns: ["\\bpills?\\b"], onMatch: "unsure" },
        },
        {
          ...{ name: "doctor", stage: "output", kind: "model", model: "judge", when: "unsure" },
          ...{ instruction: "Is this medical advice?", budget: "5s" },
        },
      ],
    });
    const url = `${gateway.url}/v1/chat/completions`;
    const say = async (content: string): Promise<string> => {
      const body = { model: "m", stream: true, messages: [{ role: "user", content }] };
      return (await answer(url, { body: JSON.stringify(body) })).text;
    };
    expect(await say("What is the weather?")).toContain("sunny");
    expect(asked).toHaveLength(0);
    const refused = await say("I am in pain");
    expect(refused).not.toContain("pills");
    expect(refused).toContain("content_filter");
    expect(asked).toHaveLength(1);
    expect(JSON.parse(asked[0]!).messages[1]).toEqual({ role: "user", content: "Take two pills." });
  });
});

describe("beside lanes and reloads", () => {
  it("a refusal gives its place in the queue back, and other rules hold from the next request on", async () => {
    const upstream = await server(() => chat(["Her card: ", CARD]));
    const section = (patterns: readonly string[]): object => ({
      upstreams: [{ name: "up", url: upstream.url }],
      admission: { concurrency: 4 },
      guardrails: [{ name: "words", stage: "request", kind: "pattern", patterns }],
    });
    const { gateway, reload } = await configuredGateway(section(["number"]));
    const say = async (): Promise<number> => {
      const body = JSON.stringify({ model: "m", stream: true, ...ask });
      return (await answer(`${gateway.url}/v1/chat/completions`, { body })).status;
    };
    expect(await Promise.all([say(), say(), say()])).toEqual([400, 400, 400]);
    expect(upstream.hits).toHaveLength(0);
    await reload(section(["nothing of this"]));
    expect(await say()).toBe(200);
    expect(
      await metric(
        gateway,
        'manx_gateway_guard_first_held_seconds_count{model="*",path="refused"}',
      ),
    ).toBe(3);
  });
});

describe("what cannot be checked", () => {
  it("a cut stream gives out what was clear and an error, and no terminal frame", async () => {
    const script: Step[] = [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(chatText("half an ")) },
      { bytes: chunk(chatText("answer")), end: "rst" },
    ];
    const { gateway } = await guarded(() => script, [CARDS]);
    const url = `${gateway.url}/v1/chat/completions`;
    const { text } = await answer(url, { body: JSON.stringify({ ...ask, stream: true }) });
    expect(text).toContain("MANX_STREAM_INCOMPLETE");
    expect(text).toContain("half an ");
    expect(text).not.toContain("[DONE]");
  });

  it("a stream of legacy completions ends where it is refused", async () => {
    const said = (text: string): string => {
      const choices = [{ index: 0, text, finish_reason: null }];
      return `data: ${JSON.stringify({ id: "c", object: "text_completion", choices })}\n\n`;
    };
    const script: Step[] = [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(said("It is ") + said(`${CARD}. `) + said("x".repeat(400))) },
      { bytes: chunk(CHAT_DONE) + LAST_CHUNK },
    ];
    const { gateway } = await guarded(() => script, [CARDS]);
    const url = `${gateway.url}/v1/completions`;
    const { text } = await answer(url, { body: JSON.stringify({ stream: true }) });
    expect(text).not.toContain("4111");
    expect(text).toContain("content_filter");
  });

  it("a stream in no known form is refused where it must be checked", async () => {
    const zipped = {
      "content-type": "text/event-stream",
      "content-encoding": "gzip",
      "transfer-encoding": "chunked",
    };
    const script: Step[] = [{ bytes: head(200, zipped) + chunk("zip") + LAST_CHUNK }];
    const { gateway } = await guarded(() => script, [CARDS]);
    const url = `${gateway.url}/v1/completions`;
    const { status, text } = await answer(url, { body: JSON.stringify({ stream: true }) });
    expect([status, JSON.parse(text).error.code]).toEqual([503, "MANX_GUARD_FAILED"]);
  });

  it("a pattern that backtracks for ever fails in time and stops nobody else", async () => {
    const { gateway } = await guarded(
      () => chat([`${"a".repeat(60)}!`]),
      [{ ...CARDS, patterns: ["^(a+)+$"] }],
    );
    const url = `${gateway.url}/v1/chat/completions`;
    const { text } = await answer(url, { body: JSON.stringify({ ...ask, stream: true }) });
    expect(text).toContain("MANX_GUARD_FAILED");
    expect((await answer(`${gateway.url}/health`, { method: "GET" })).status).toBe(200);
  });
});
