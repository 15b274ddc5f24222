import { describe, expect, it } from "vitest";
import {
  call,
  chatBody,
  chatScript,
  type FetchScript,
  fetchWorld,
  refusal,
} from "../../../test/support/fetch-world.ts";
import { chatWire, delta } from "../../../test/support/wire-text.ts";
import { attribute, type Span, TurnRecorder, TurnTree } from "../../trace/index.ts";
import { Turn } from "../turn.ts";

const usage = {
  choices: [],
  usage: { prompt_tokens: 40, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 8 } },
};
const counted: FetchScript = {
  chunks: [
    [100, chatWire(delta({ content: "a" }))],
    [200, chatWire(delta({ content: "b" }))],
    [2_400, chatWire(delta({ content: "c" }), delta({}, "stop"), usage, "[DONE]")],
  ],
};

async function recorded(scripts: readonly FetchScript[], options: object = {}) {
  const world = fetchWorld((_, number) => scripts[Math.min(number, scripts.length - 1)]!);
  const trace = new TurnRecorder({ clock: world.clock, name: "agent" });
  call(world, world.manx({ span: trace, ...options }));
  await world.clock.run();
  const { spans } = trace.finish();
  const by = (kind: string): Span[] => spans.filter((span) => span.kind === kind);
  return { spans, by, world, call: by("model-call")[0]! };
}

describe("a call as spans", () => {
  it("has the GenAI attributes once, and below it each attempt with its cost", async () => {
    const { call, by } = await recorded([refusal(503), counted]);
    expect(call).toMatchObject({
      name: "m",
      status: "ok",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 8,
        "gen_ai.usage.output_tokens": 7,
        "manx.attempts": 2,
      },
    });
    const attempts = by("attempt");
    expect(attempts.map(({ status }) => status)).toEqual(["error", "ok"]);
    expect(attempts.map(({ parentId }) => parentId)).toEqual([call.id, call.id]);
    expect(attempts[0]!.attributes).toMatchObject({
      "error.type": "status",
      "http.response.status_code": 503,
      "manx.attempt.input_tokens": 0,
    });
    expect(attempts[1]!.attributes).toMatchObject({
      "manx.attempt.cause": "retry",
      "manx.attempt.input_tokens": 40,
      "manx.attempt.output_tokens": 7,
      "manx.attempt.usage_estimated": false,
    });
    expect(attempts.flatMap(({ attributes }) => Object.keys(attributes)).join()).not.toContain(
      "gen_ai",
    );
  });

  it("becomes phases that sum: retry, back-off, prefill, decode and its stall", async () => {
    const { spans, world } = await recorded([refusal(503), counted]);
    const { phases, slices } = attribute(new TurnTree(spans));
    expect(Object.values(phases).reduce((sum, us) => sum + us, 0)).toBe(world.clock.nowUs());
    const subs = new Map<string, number>();
    for (const { phase, sub, startUs, endUs } of slices) {
      const key = `${phase}/${sub}`;
      subs.set(key, (subs.get(key) ?? 0) + endUs - startUs);
    }
    expect(subs.get("orchestration/retry")).toBe(5_000);
    expect(subs.get("orchestration/back-off")).toBeGreaterThan(100_000);
    expect(subs.get("prefill/null")).toBe(100_000);
    expect(subs.get("decode/null")).toBe(100_000);
    expect(subs.get("decode/stall")).toBe(2_200_000);
  });

  it("says what nobody has counted, by an estimate", async () => {
    const { by } = await recorded([chatScript(50)]);
    expect(by("attempt")[0]!.attributes).toMatchObject({ "manx.attempt.usage_estimated": true });
    expect(by("attempt")[0]!.attributes).not.toHaveProperty("manx.attempt.output_tokens");
  });

  it("lies in the trace of the turn, or below the call's own span of a step", async () => {
    const world = fetchWorld(() => chatScript(50));
    const trace = new TurnRecorder({ clock: world.clock, name: "agent" });
    const turn = new Turn({ tools: [], clock: world.clock, trace });
    call(world, world.manx({ turn }));
    const step = turn.step("openai-chat", { model: "m" });
    call(world, world.manx({ turn, callSpan: () => step.span }));
    await world.clock.run();
    step.end();
    await turn.close();
    const { spans } = trace.finish();
    const calls = spans.filter(({ kind }) => kind === "model-call");
    const attempts = spans.filter(({ kind }) => kind === "attempt");
    expect(calls).toHaveLength(2);
    expect(new Set(attempts.map(({ parentId }) => parentId))).toEqual(
      new Set(calls.map(({ id }) => id)),
    );
  });

  it("costs nothing where nothing is recorded, and goes on to a gateway", async () => {
    const world = fetchWorld(() => chatScript(50));
    const trace = new TurnRecorder({ clock: world.clock, name: "agent" });
    call(world, world.manx(), chatBody());
    call(world, world.manx({ span: trace }));
    call(world, world.manx({ span: trace, retries: "gateway" }));
    await world.clock.run();
    expect(world.hits.map(({ headers }) => headers.has("traceparent"))).toEqual([
      false,
      false,
      true,
    ]);
  });
});
