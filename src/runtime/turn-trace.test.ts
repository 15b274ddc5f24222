import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  callDelta,
  FINISH,
  play,
  runtimeWorld,
  type World,
  wholeCall,
} from "../../test/support/runtime-world.ts";
import { delta } from "../../test/support/wire-text.ts";
import { type Span, TurnRecorder, turnRecord } from "../trace/index.ts";
import { fanOut } from "./fan-out/index.ts";
import { runGraph } from "./run-graph.ts";

const MS = 1_000;

function recorderOf(world: World): TurnRecorder {
  return new TurnRecorder({
    clock: world.clock,
    name: "support",
    bytes: (count) => new Uint8Array(count).fill(7),
  });
}

function named(spans: readonly Span[], name: string): Span[] {
  return spans.filter((span) => span.name === name);
}

describe("a turn that is recorded", () => {
  it("gives back the planted time of each phase", async () => {
    const world = runtimeWorld();
    const trace = recorderOf(world);
    const turn = world.turn([world.timed("search", 1_500), world.timed("mail", 200)], { trace });
    world.clock.at(100 * MS, () => {
      const step = turn.step("openai-chat", { model: "gpt-5", startUs: 0 });
      play(world, step, [
        [600, delta({ content: "Let me see" })],
        [800, callDelta(0, "{", { id: "a", name: "search" })],
        // Whole at 1,000; the message goes on to 2,600.
        [1_000, callDelta(0, "}")],
        [2_600, FINISH],
      ]);
      void step.results().then(() => {
        const next = turn.step("openai-chat");
        world.clock.at(world.clock.nowUs() + 300 * MS, () =>
          next.chunk(delta({ content: "Done" })),
        );
        world.clock.at(world.clock.nowUs() + 500 * MS, () => {
          next.chunk(delta({}, "stop"));
          next.end();
          trace.finish();
        });
      });
    });
    await world.clock.run(10_000 * MS);
    const record = turnRecord(trace.finish());
    const call = named(record.spans, "gpt-5")[0]!;
    expect(call.attributes).toMatchObject({
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.response.finish_reasons": ["tool_calls"],
    });
    expect(call.events.map(({ name, atUs }) => [name, atUs / MS])).toEqual([
      ["output-start", 600],
      ["output-visible", 600],
      ["output-end", 1_000],
      ["tail-start", 1_000],
      ["tail-end", 2_600],
    ]);
    expect(record.subs).toContainEqual({ phase: "decode", sub: "tail", us: 1_800 * MS });
    const [search] = named(record.spans, "search");
    expect([search!.startUs / MS, search!.endUs / MS]).toEqual([1_000, 2_500]);
    // The tool began at its brace and was done before the message, so the message is what was waited for.
    expect(record.phases).toMatchObject({ tools: 0, prefill: 900 * MS, unattributed: 0 });
    expect(record.wallUs).toBe(3_100 * MS);
  });

  it("shows a tool that outlasts the message as what was waited for, and its attempts", async () => {
    const world = runtimeWorld();
    const trace = recorderOf(world);
    let runs = 0;
    const flaky = world.timed("flaky", 0, {
      attempts: 2,
      run: async (_, { span, signal }) => {
        runs += 1;
        span.set("try", runs);
        await world.sleep(400, signal);
        if (runs === 1) throw new Error("no");
        return "yes";
      },
    });
    const turn = world.turn([flaky], { trace });
    const step = turn.step("openai-chat", { model: "m" });
    play(world, step, [
      [100, wholeCall(0, "flaky")],
      [200, FINISH],
    ]);
    await world.clock.run(5_000 * MS);
    const { spans, phases } = turnRecord(trace.finish("ok", 900 * MS));
    const attempts = spans.filter(({ kind }) => kind === "attempt");
    expect(attempts.map(({ status, attributes }) => [status, attributes.try])).toEqual([
      ["error", 1],
      ["ok", 2],
    ]);
    const [call] = spans.filter(({ kind }) => kind === "tool-call");
    const [model] = named(spans, "m");
    expect(call!.links).toEqual([{ spanId: model!.id, relation: "after" }]);
    expect(phases).toMatchObject({ prefill: 100 * MS, tools: 400 * MS, orchestration: 400 * MS });
  });

  it("leaves runs that were thrown away off the critical path, and says how each call ended", async () => {
    const world = runtimeWorld();
    const trace = recorderOf(world);
    const turn = world.turn([world.timed("search", 5_000)], { trace });
    const step = turn.step("openai-chat", { model: "m" });
    play(world, step, [
      [100, wholeCall(0, "search")],
      [300, delta({}, "length")],
    ]);
    await world.clock.run(1_000 * MS);
    const { spans, phases } = turnRecord(trace.finish("ok", 300 * MS));
    expect(named(spans, "search")[0]).toMatchObject({ status: "cancelled", detached: true });
    expect(phases.tools).toBe(0);
  });

  it("hangs plans, graphs and branches on it with what they had to wait for", async () => {
    const world = runtimeWorld();
    const trace = recorderOf(world);
    const turn = world.turn([world.timed("user", 10), world.timed("orders", 20)], { trace });
    void turn.plan([
      { tool: "user", args: {} },
      { tool: "orders", args: { of: "$1" } },
    ]);
    void runGraph(
      {
        docs: { kind: "retrieval", run: () => world.sleep(50) },
        rank: { needs: ["docs"], kind: "retrieval", run: () => world.sleep(5) },
      },
      { clock: world.clock, trace },
    );
    void fanOut(
      {
        fast: { kind: "retrieval", run: () => world.sleep(10) },
        slow: { kind: "retrieval", run: ({ signal }) => world.sleep(900, signal) },
      },
      { join: { k: 1 }, clock: world.clock, trace },
    );
    await world.clock.run(1_000 * MS);
    const { spans } = turnRecord(trace.finish("ok", 100 * MS));
    const id = (name: string): string => named(spans, name)[0]!.id;
    expect(named(spans, "orders")[0]!.links).toEqual([{ spanId: id("user"), relation: "after" }]);
    expect(named(spans, "rank")[0]!.links).toEqual([{ spanId: id("docs"), relation: "after" }]);
    expect(named(spans, "slow")[0]).toMatchObject({ status: "cancelled", detached: true });
    expect(named(spans, "fast")[0]).toMatchObject({ status: "ok" });
  });

  it("tells another process where it stands, in the ids that the record has", () => {
    const world = runtimeWorld();
    const trace = recorderOf(world);
    const turn = world.turn([], { trace, deadline: "2s" });
    const step = turn.step("openai-chat", { model: "m" });
    const headers = step.headers();
    step.cancel();
    const { traceId, spans } = trace.finish();
    const model = named(spans, "m")[0]!;
    expect(headers).toEqual({
      "x-manx-deadline-ms": "2000",
      traceparent: `00-${traceId}-${model.id}-01`,
    });
    expect(world.turn([]).step("openai-chat").headers()).toEqual({});
  });

  it("leaves no span open, whatever the calls do and wherever the message breaks off", async () => {
    const nature = fc.constantFrom("ok", "throws", "hangs", "unknown", "invalid", "blocked");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ nature, takesMs: fc.nat(50) }), { maxLength: 5 }),
        fc.constantFrom("tool_calls", "length", "cut", "cancel"),
        async (calls, how) => {
          const world = runtimeWorld();
          const trace = recorderOf(world);
          const tools = calls.map(({ nature: kind, takesMs }, i) =>
            world.timed(`t${i}`, takesMs, {
              ...(kind === "invalid" && {
                input: () => {
                  throw new Error("no");
                },
              }),
              ...(kind === "throws" && { run: () => Promise.reject(new Error("no")) }),
              ...(kind === "hangs" && { run: () => new Promise(() => {}) }),
            }),
          );
          const turn = world.turn(tools, {
            trace,
            deadline: 200 * MS,
            admit: ({ name }) =>
              calls[Number(name.slice(1))]?.nature === "blocked" ? { blocked: "no" } : undefined,
          });
          const step = turn.step("openai-chat");
          for (const [i, one] of calls.entries()) {
            step.chunk(wholeCall(i, one.nature === "unknown" ? "nobody" : `t${i}`));
          }
          await world.clock.run(20 * MS);
          if (how === "cancel") step.cancel();
          else if (how !== "cut") step.chunk(delta({}, how));
          step.end();
          await world.clock.run(1_000 * MS);
          await step.results();
          const { spans } = trace.finish();
          const ran = spans.filter(({ kind }) => kind === "tool-call");
          const isCalledOff = how === "cut" || how === "cancel" || how === "length";
          if (!isCalledOff) expect(ran).toHaveLength(calls.length);
          expect(spans.filter(({ unfinished }) => unfinished).map(({ name }) => name)).toEqual([]);
        },
      ),
    );
  });
});
