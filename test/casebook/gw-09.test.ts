/** GW-09 — Ping is life, not progress: two clocks; as they are measured, and at a twentieth of the time through the gateway. */
import { describe, expect, it } from "vitest";
import { US_PER_S } from "../../src/core/index.ts";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { createDecoder, LiveProgress, type Silence } from "../../src/stream/index.ts";
import { answer } from "../support/http-call.ts";
import { liveGateway, requests } from "../support/live-gateway.ts";
import { chunk, EVENT_STREAM_HEAD, LAST_CHUNK, type Step } from "../support/replay-server.ts";
import { bytesOf, messagesWire } from "../support/wire-text.ts";

const LIMITS = {
  bytesUs: 60 * US_PER_S,
  progressUs: 45 * US_PER_S,
  thinkingUs: 180 * US_PER_S,
};
const START = { type: "message_start", message: { id: "msg_1", model: "m" } };
const PING = { type: "ping" };
const STOP = { type: "message_stop" };

function block(type: string): { type: string } {
  const content_block = { type, id: "A", name: "get", input: {}, text: "", thinking: "" };
  return { type: "content_block_start", index: 0, content_block } as never;
}

function piece(delta: object): { type: string } {
  return { type: "content_block_delta", index: 0, delta } as never;
}

const TEXT = piece({ type: "text_delta", text: "Hello" });
const THOUGHT = piece({ type: "thinking_delta", thinking: "Let me" });
const NOTHING = piece({ type: "input_json_delta", partial_json: "" });

/** Runs frames at their seconds. @returns the silence that a watch would have found first, and the ages at that instant. */
function watch(
  frames: ReadonlyArray<readonly [number, { readonly type: string }]>,
): (Silence & { byteAgeUs: number; progressAgeUs: number }) | undefined {
  const decoder = createDecoder("anthropic-messages");
  const progress = new LiveProgress(0);
  const found = (): ReturnType<typeof watch> => {
    const silence = progress.nextSilence(LIMITS);
    return {
      ...silence,
      byteAgeUs: silence.dueUs - progress.lastByteUs,
      progressAgeUs: silence.dueUs - progress.lastProgressUs,
    };
  };
  for (const [atS, frame] of frames) {
    const atUs = atS * US_PER_S;
    if (progress.nextSilence(LIMITS).dueUs <= atUs) return found();
    progress.read(decoder.push(bytesOf(messagesWire(frame)), atUs), atUs);
  }
  return decoder.completion.state === "open" ? found() : undefined;
}

describe("GW-09: a stream that is alive", () => {
  it("(A) but says nothing more is found by its progress, though bytes are fresh", () => {
    const frames = [
      [0, START],
      [1, block("text")],
      [1, TEXT],
      [16, PING],
      [31, PING],
      [46, PING],
    ];
    expect(watch(frames as never)).toMatchObject({
      dueUs: 46 * US_PER_S,
      reason: "no_progress",
      byteAgeUs: 15 * US_PER_S,
      progressAgeUs: 45 * US_PER_S,
    });
  });

  it("(B) and thinks is left alone", () => {
    const frames = [
      [0, START],
      [1, block("thinking")],
      [28, PING],
      [58, PING],
      [88, PING],
      [95, THOUGHT],
      [100, TEXT],
      [101, STOP],
    ];
    expect(watch(frames as never)).toBeUndefined();
  });

  it("(C) no longer: no byte after the head", () => {
    expect(watch([])).toMatchObject({ dueUs: 60 * US_PER_S, reason: "no_bytes" });
  });

  it("(D) but sends empty deltas is found from the block that opened last", () => {
    const empty = [12, 22, 32, 42, 52].map((atS) => [atS, NOTHING] as const);
    expect(watch([[1, TEXT], [2, block("tool_use")], ...empty])).toMatchObject({
      dueUs: 47 * US_PER_S,
      reason: "no_progress",
    });
  });

  it("and does something that nobody knows yet has got on", () => {
    const odd = { type: "content_block_shimmer" };
    expect(
      watch([
        [1, TEXT],
        [40, odd],
      ]),
    ).toMatchObject({ dueUs: 85 * US_PER_S });
  });

  it("and does such a thing while it thinks is still thinking", () => {
    const odd = { type: "content_block_shimmer" };
    expect(
      watch([
        [1, block("thinking")],
        [40, odd],
        [90, PING],
      ]),
    ).toMatchObject({
      dueUs: 150 * US_PER_S,
      reason: "no_bytes",
    });
  });

  it("is not blamed for the time in which the client did not read", () => {
    const progress = new LiveProgress(0);
    progress.excuse(30 * US_PER_S);
    expect(progress.nextSilence(LIMITS).dueUs).toBe(90 * US_PER_S);
  });
});

const MS_PER_S = 50;

/** The frames at their instants, in parts of a second, after a head at 0. */
function script(frames: ReadonlyArray<readonly [number, { readonly type: string }]>): Step[] {
  let beforeS = 0;
  const steps = frames.map(([atS, frame]): Step => {
    const afterMs = (atS - beforeS) * MS_PER_S;
    beforeS = atS;
    return { afterMs, bytes: chunk(messagesWire(frame)) };
  });
  return [{ bytes: EVENT_STREAM_HEAD }, ...steps, { bytes: LAST_CHUNK }];
}

const inS = (seconds: number): number => seconds * MS_PER_S * 1_000;
const policy = {
  retry: { ...CALL_POLICY.retry, attemptsMax: 1 },
  timeouts: {
    ...CALL_POLICY.timeouts,
    firstContentUs: inS(180),
    lifeGapUs: inS(60),
    progressGapUs: inS(45),
    thinkingGapUs: inS(180),
  },
};
const pingsAt = (...instants: number[]) => instants.map((atS) => [atS, PING] as const);
const EMPTY_DELTAS = Array.from({ length: 9 }, (_, at) => [12 + at * 10, NOTHING] as const);
const FINISH = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} } as never;

describe("GW-09, through the gateway: a stream that", () => {
  it.concurrent.for([
    {
      name: "(A) pings and says nothing more ends with an error in band",
      frames: [[0, START], [1, block("text")], [1, TEXT], ...pingsAt(16, 31, 46, 61, 76, 91)],
      outcome: { status: 200, outcome: "timeout_progress" },
      says: 'phase \\"progress\\"',
    },
    {
      name: "(B) thinks is left alone",
      frames: [
        ...[[0, START] as const, [1, block("thinking")] as const],
        ...pingsAt(28, 58, 88),
        ...[[95, THOUGHT] as const, [100, TEXT] as const, [101, FINISH] as const],
        [101, STOP],
      ],
      outcome: { status: 200, outcome: "ok" },
      says: "message_stop",
    },
    {
      name: "(C) has a head and nothing else is a status",
      frames: [[120, PING]],
      outcome: { status: 504, outcome: "timeout_gap" },
      says: 'phase \\"gap\\"',
    },
    {
      name: "(D) sends empty deltas ends with an error in band",
      frames: [[0, START], [1, block("text")], [1, TEXT], [2, block("tool_use")], ...EMPTY_DELTAS],
      outcome: { status: 200, outcome: "timeout_progress" },
      says: 'phase \\"progress\\"',
    },
  ])("$name", async ({ frames, outcome, says }, { onTestFinished }) => {
    const steps = script(frames as never);
    const { messagesUrl, gateway } = await liveGateway(() => steps, { policy }, onTestFinished);
    const { status, text } = await answer(messagesUrl);
    expect(status).toBe(outcome.status);
    expect(text).toContain(says);
    expect(text.includes("message_stop")).toBe(outcome.outcome === "ok");
    expect(await requests(gateway, { route: "messages", ...outcome })).toBe(1);
  });
});
