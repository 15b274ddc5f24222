/**
 * GW-17, retry after part of the answer was sent: the text is doubled, or the preamble is sent twice. Nothing is sent before
 * the model has said something, and nothing is repeated after.
 */
import { describe, expect, it } from "vitest";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { call, fetchWorld } from "../support/fetch-world.ts";
import { answer } from "../support/http-call.ts";
import { liveGateway } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const policy = { retry: { ...CALL_POLICY.retry, backoffBaseUs: 10_000 } };
const role = chatRaw({ role: "assistant", content: "" });
const whole: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  { bytes: chunk(role) },
  { bytes: chunk(chatText("Hello")) },
  { bytes: chunk(chatText("", "stop")) },
  { bytes: chunk(CHAT_DONE) },
  { bytes: LAST_CHUNK },
];

function chatRaw(delta: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
}

/** @param before what the first attempt sends before it is reset. */
async function run(before: readonly string[]) {
  const { chatUrl, upstream } = await liveGateway(
    (hit) =>
      hit === upstream.hits[0]
        ? [
            { bytes: EVENT_STREAM_HEAD },
            ...before.map((bytes) => ({ bytes: chunk(bytes) })),
            { afterMs: 50, end: "rst" as const },
          ]
        : whole,
    { policy, preconnect: 0 },
  );
  const made = await answer(chatUrl, { body: '{"stream":true}' });
  const frames = made.text.split("\n\n").filter((frame) => frame.trim() !== "");
  return { ...made, frames, hits: upstream.hits.length };
}

describe("casebook GW-17", () => {
  it("A: a cut after the role chunk is repeated without a trace", async () => {
    const { status, frames, hits, headers } = await run([role]);
    expect([status, hits]).toEqual([200, 2]);
    expect(frames.filter((frame) => frame.includes('"role"'))).toHaveLength(1);
    expect(frames.filter((frame) => frame.includes("Hello"))).toHaveLength(1);
    expect(frames.at(-1)?.trim()).toBe("data: [DONE]");
    expect(headers["x-manx-attempts"]).toBe("2");
  });

  it.each([
    ["B: a cut after text", chatText("Hel")],
    [
      "C: a cut within a tool's arguments",
      chatRaw({
        tool_calls: [
          { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":' } },
        ],
      }),
    ],
  ])("%s is not repeated: what came stands, then one error", async (_, part) => {
    const { status, frames, hits } = await run([role, part]);
    expect([status, hits]).toEqual([200, 1]);
    expect(frames).toHaveLength(3);
    expect(`${frames[1]!.trim()}\n\n`).toBe(part);
    expect(JSON.parse(frames[2]!.trim().slice("data: ".length))).toMatchObject({
      error: { code: "MANX_STREAM_INCOMPLETE" },
    });
  });

  it("stops after two cuts of the same kind", async () => {
    const { chatUrl, upstream } = await liveGateway(
      () => [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(role) }, { afterMs: 5, end: "rst" }],
      { policy: { retry: { ...policy.retry, attemptsMax: 5 } }, preconnect: 0 },
    );
    const { status, headers } = await answer(chatUrl, { body: '{"stream":true}' });
    expect([status, headers["x-should-retry"]]).toEqual([502, "false"]);
    expect(upstream.hits).toHaveLength(2);
  });
});

describe("casebook GW-17 in the agent's own process", () => {
  const tool = chatRaw({
    tool_calls: [
      { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":' } },
    ],
  });

  /** @param before what each attempt but the last one sends before it is cut. */
  async function play(before: readonly string[], cuts: number, attempts = 2) {
    const world = fetchWorld((_, number) =>
      number < cuts
        ? { chunks: before.map((text) => [5, text] as const), end: { atMs: 50, how: "cut" } }
        : {
            chunks: [role, chatText("Hello"), chatText("", "stop"), CHAT_DONE].map((text) => [
              5,
              text,
            ]),
          },
    );
    const seen = call(world, world.manx({ policy: { retry: { attempts, backoff: "10ms" } } }));
    await world.clock.run();
    const frames = seen.text.split("\n\n").filter((frame) => frame.trim() !== "");
    return { seen, frames, hits: world.hits.length, record: world.records[0]! };
  }

  it("A: a cut after the role chunk is repeated without a trace, and both attempts are accounted for", async () => {
    const { seen, frames, hits, record } = await play([role], 1);
    expect([hits, seen.broke]).toEqual([2, undefined]);
    expect(frames.filter((frame) => frame.includes('"role"'))).toHaveLength(1);
    expect(frames.filter((frame) => frame.includes("Hello"))).toHaveLength(1);
    // What nobody has counted is an estimate, and says so.
    const cost = { inputTokens: record.inputTokens, outputTokens: null, isEstimate: true };
    expect(record.attempts.map((attempt) => attempt.cost)).toEqual([cost, cost]);
  });

  it.each([
    ["B: a cut after text", chatText("Hel")],
    ["C: a cut within a tool's arguments", tool],
  ])("%s is not repeated: what came stands, then one error", async (_, part) => {
    const { seen, frames, hits } = await play([role, part], 1);
    expect(hits).toBe(1);
    expect(frames).toHaveLength(3);
    expect(`${frames[1]!.trim()}\n\n`).toBe(part);
    expect(seen.broke).toMatchObject({ code: "MANX_STREAM_INCOMPLETE" });
  });

  it("stops after two cuts of the same kind", async () => {
    const { seen, hits } = await play([role], 9, 5);
    expect([seen.response!.status, seen.response!.headers.get("x-should-retry")]).toEqual([
      502,
      "false",
    ]);
    expect(hits).toBe(2);
  });
});
