/** What the official clients offer on top of one request, through the gateway: helpers, time-outs, retries, leaving early. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { stepsUntil, wholeSteps } from "../support/fault-wire.ts";
import { type LiveGateway, liveGateway, requests, until } from "../support/live-gateway.ts";
import {
  anthropicEvent,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const messages = [{ role: "user" as const, content: "Hi" }];
const chatBody = { model: "m", messages };
const messageBody = { ...chatBody, max_tokens: 64 };

async function openAi(script: (hit: Hit) => readonly Step[], options: object = {}) {
  const live = await liveGateway(script);
  const baseURL = `${live.gateway.url}/v1`;
  return { ...live, client: new OpenAI({ baseURL, apiKey: "x", maxRetries: 0, ...options }) };
}

async function anthropic(script: (hit: Hit) => readonly Step[], options: object = {}) {
  const live = await liveGateway(script);
  const baseURL = live.gateway.url;
  return { ...live, client: new Anthropic({ baseURL, apiKey: "x", maxRetries: 0, ...options }) };
}

/** The upstream's socket has closed, and nothing is left here. */
async function expectLetGo({ upstream, gateway }: LiveGateway, hit = 1): Promise<void> {
  await (await upstream.hit(hit)).closed;
  await until(() => gateway.inFlight() === 0);
  expect(gateway.connections().open).toBe(gateway.connections().idle);
}

function chatFrame(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
}

const CALL = { index: 0, id: "call_1", type: "function" };
/** A stream that asks for the weather, in pieces. */
const toolStream: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  ...[
    chatFrame({
      role: "assistant",
      tool_calls: [{ ...CALL, function: { name: "weather", arguments: "" } }],
    }),
    chatFrame({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Os' } }] }),
    chatFrame({ tool_calls: [{ index: 0, function: { arguments: 'lo"}' } }] }),
    `${chatFrame({}, "tool_calls")}data: [DONE]\n\n`,
  ].map((part) => ({ bytes: chunk(part) })),
  { bytes: LAST_CHUNK },
];

describe("the openai client's helpers", () => {
  it("gather a stream, with its events in order", async () => {
    const { client } = await openAi(() => wholeSteps("openai", true));
    const stream = client.chat.completions.stream(chatBody);
    const pieces: string[] = [];
    stream.on("content", (piece) => pieces.push(piece));
    const final = await stream.finalChatCompletion();
    expect(pieces.join("")).toBe("Hello you");
    expect(final.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "Hello you" },
    });
  });

  it("run a loop of tools over two calls", async () => {
    const { client, upstream } = await openAi(({ body }) =>
      body.includes('"role":"tool"') ? wholeSteps("openai", true) : toolStream,
    );
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({
      ...chatBody,
      stream: true,
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            description: "Of a city, now.",
            parameters: { type: "object", properties: { city: { type: "string" } } },
            function: (text: string) => {
              asked.push(text);
              return "4 °C";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("Hello you");
    expect(asked).toEqual(['{"city":"Oslo"}']);
    const { messages: second } = JSON.parse(upstream.hits[1]!.body) as { messages: object[] };
    expect(second.at(-1)).toEqual({ role: "tool", tool_call_id: "call_1", content: "4 °C" });
  });

  it("give the response beside the data, with the gateway's marks", async () => {
    const { client } = await openAi(() => wholeSteps("openai", false));
    const { data, response } = await client.chat.completions.create(chatBody).withResponse();
    expect(data.choices[0]?.message.content).toBe("Hello you");
    expect(response.headers.get("x-manx-attempts")).toBe("1");
  });

  it("leave in the middle: by break, by abort, by a signal", async () => {
    const live = await openAi(() => stepsUntil("openai", true, "after"));
    const { client, gateway } = live;
    const leave: ((stream: AsyncIterable<unknown> & { controller: AbortController }) => void)[] = [
      () => undefined,
      (stream) => stream.controller.abort(),
    ];
    for (const [at, act] of leave.entries()) {
      const stream = await client.chat.completions.create({ ...chatBody, stream: true });
      for await (const _ of stream) {
        act(stream);
        if (at === 0) break;
      }
      await expectLetGo(live, at + 1);
    }
    const controller = new AbortController();
    const stream = client.chat.completions.stream(chatBody, { signal: controller.signal });
    stream.on("content", () => controller.abort());
    await expect(stream.finalContent()).rejects.toThrow(OpenAI.APIUserAbortError);
    await expectLetGo(live, 3);
    expect(await requests(gateway, { status: 200, outcome: "client_cancelled" })).toBe(3);
  });
});

describe("the openai client's time-outs and retries", () => {
  it("time out on a silent head, and each of its tries is let go of and counted by its number", async () => {
    const live = await openAi(() => [], { timeout: 150, maxRetries: 1 });
    const asked = live.client.chat.completions.create({ ...chatBody, stream: true });
    await expect(asked).rejects.toThrow(OpenAI.APIConnectionTimeoutError);
    await expectLetGo(live, 2);
    const counts = live.upstream.hits.map(({ headers }) => headers["x-stainless-retry-count"]);
    expect(counts).toEqual(["0", "1"]);
  });

  it("are not begun where this gateway has tried for them, and are where it says so", async () => {
    const live = await openAi(() => [{ bytes: json(503, { error: { message: "no" } }) }], {
      maxRetries: 2,
    });
    const asked = live.client.chat.completions.create(chatBody);
    await expect(asked).rejects.toMatchObject({ status: 503 });
    expect(live.upstream.hits).toHaveLength(1);
    // A gateway that goes sends its clients to another.
    const closing = live.gateway.close();
    await expect(live.client.chat.completions.create(chatBody)).rejects.toThrow(
      OpenAI.APIConnectionError,
    );
    await closing;
  });

  it("see a deadline of theirs before content as this gateway's 504, in time for the rest of their own", async () => {
    const { client } = await openAi(() => stepsUntil("openai", true, "before"));
    const headers = { "x-manx-deadline-ms": "150" };
    const asked = client.chat.completions.create({ ...chatBody, stream: true }, { headers });
    await expect(asked).rejects.toMatchObject({ status: 504, code: "MANX_DEADLINE" });
  });

  it("read a stream of responses to its end, and one that breaks off as an error", async () => {
    const event = (type: string, fields: object) => anthropicEvent(type, { ...fields });
    const opening =
      event("response.created", { sequence_number: 0, response: { id: "r", output: [] } }) +
      event("response.output_text.delta", {
        sequence_number: 1,
        output_index: 0,
        content_index: 0,
        item_id: "m",
        delta: "Hello",
      });
    const end = event("response.completed", {
      sequence_number: 2,
      response: { id: "r", status: "completed", output: [], usage: null },
    });
    let isCut = false;
    const { client } = await openAi(() => [
      { bytes: EVENT_STREAM_HEAD },
      { bytes: chunk(opening) },
      ...(isCut ? [{ afterMs: 10, end: "rst" as const }] : [{ bytes: chunk(end) + LAST_CHUNK }]),
    ]);
    const read = async (): Promise<string[]> => {
      const types: string[] = [];
      const stream = await client.responses.create({ model: "m", input: "Hi", stream: true });
      for await (const { type } of stream) types.push(type);
      return types;
    };
    expect((await read()).at(-1)).toBe("response.completed");
    isCut = true;
    const seen = await read().catch((thrown: Error) => thrown);
    const isTold = seen instanceof Error || seen.at(-1) !== "response.output_text.delta";
    expect(isTold, String(seen)).toBe(true);
    expect(seen).not.toContain("response.completed");
  });
});

describe("the Anthropic client's helpers", () => {
  it("gather a stream, count tokens, and give the response beside the data", async () => {
    const { client } = await anthropic(({ path }) =>
      path.endsWith("count_tokens")
        ? [{ bytes: json(200, { input_tokens: 7 }) }]
        : wholeSteps("anthropic", true),
    );
    const stream = client.messages.stream(messageBody);
    const pieces: string[] = [];
    stream.on("text", (piece) => pieces.push(piece));
    expect(await stream.finalText()).toBe("Hello you");
    expect(pieces).toEqual(["Hello ", "you"]);
    expect(await client.messages.countTokens(chatBody)).toEqual({ input_tokens: 7 });
    const { response } = await client.messages.stream(messageBody).withResponse();
    expect(response.headers.get("x-manx-attempts")).toBe("1");
  });

  it("leave in the middle: by break, by abort", async () => {
    const live = await anthropic(() => stepsUntil("anthropic", true, "after"));
    const stream = await live.client.messages.create({ ...messageBody, stream: true });
    for await (const event of stream) if (event.type === "content_block_delta") break;
    await expectLetGo(live);
    const helped = live.client.messages.stream(messageBody);
    helped.on("text", () => helped.abort());
    await expect(helped.finalMessage()).rejects.toThrow(Anthropic.APIUserAbortError);
    await expectLetGo(live, 2);
  });

  it("time out on a silent head, and try again by themselves where nothing was said", async () => {
    const live = await anthropic(
      (hit) => (hit === live.upstream.hits[0] ? [] : wholeSteps("anthropic", true)),
      { timeout: 200, maxRetries: 1 },
    );
    const final = await live.client.messages.stream(messageBody).finalText();
    expect(final).toBe("Hello you");
    await expectLetGo(live);
    expect(live.upstream.hits[1]!.headers["x-stainless-retry-count"]).toBe("1");
  });

  it("throw on an error inside a stream, with the text that had come", async () => {
    const { client } = await anthropic(() => [
      ...stepsUntil("anthropic", true, "after"),
      {
        bytes: chunk(
          anthropicEvent("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
        ),
      },
      { bytes: LAST_CHUNK },
    ]);
    const stream = client.messages.stream(messageBody);
    let text = "";
    stream.on("text", (piece) => {
      text += piece;
    });
    await expect(stream.finalMessage()).rejects.toThrow("Overloaded");
    expect(text).toBe("Hello ");
  });
});

it("both clients at once, fifty calls each, get each their own", async () => {
  const script = ({ body, path }: Hit): Step[] => {
    const [, mark] = /mark (\d+)/.exec(body)!;
    if (path === "/v1/messages") {
      const message = {
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: mark }],
      };
      return [{ afterMs: 10, bytes: json(200, message) }];
    }
    return [
      { bytes: EVENT_STREAM_HEAD },
      { afterMs: 10, bytes: chunk(chatFrame({ role: "assistant", content: mark }, "stop")) },
      { bytes: chunk("data: [DONE]\n\n") },
      { bytes: LAST_CHUNK },
    ];
  };
  const { gateway } = await liveGateway(script);
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "x", maxRetries: 0 });
  const claude = new Anthropic({ baseURL: gateway.url, apiKey: "x", maxRetries: 0 });
  const ask = async (at: number): Promise<string[]> => {
    const said = [{ role: "user" as const, content: `mark ${at}` }];
    const stream = openai.chat.completions.stream({ model: "m", messages: said });
    const message = claude.messages.create({ model: "m", max_tokens: 9, messages: said });
    const [block] = (await message).content;
    return [(await stream.finalContent()) ?? "", block?.type === "text" ? block.text : ""];
  };
  const all = await Promise.all(Array.from({ length: 50 }, (_, at) => ask(at)));
  expect(all).toEqual(Array.from({ length: 50 }, (_, at) => [String(at), String(at)]));
});
