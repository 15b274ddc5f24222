import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FINISH, runtimeWorld, wholeCall } from "../../test/support/runtime-world.ts";
import { delta } from "../../test/support/wire-text.ts";
import { Deadline } from "./deadline.ts";

const MS = 1_000;

type Nature = "obeys" | "deaf" | "throws" | "hangs";

const call = fc.record({
  nature: fc.constantFrom<Nature>("obeys", "deaf", "throws", "hangs"),
  effect: fc.constantFrom("pure" as const, "idempotent" as const, "irreversible" as const),
  takesMs: fc.nat(400),
  deadlineMs: fc.option(fc.nat(300)),
  attempts: fc.integer({ min: 1, max: 3 }),
  atMs: fc.nat(150),
});

describe("a turn", () => {
  it("is outlived by nothing by more than its grace, and has a result for each call by then", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 1, maxLength: 6 }),
        fc.nat(300),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (calls, deadlineMs, concurrency, isWhole) => {
          const world = runtimeWorld();
          const tools = calls.map(({ nature, effect, takesMs, deadlineMs: ownMs, attempts }, i) =>
            world.timed(`t${i}`, 0, {
              effect,
              ...(ownMs !== null && { deadline: ownMs * MS }),
              ...(effect !== "irreversible" && { attempts }),
              run: async (_, { signal, deadlineUs }) => {
                expect(deadlineUs).toBeLessThanOrEqual(deadlineMs * MS);
                if (nature === "hangs") await new Promise(() => {});
                await world.sleep(takesMs, nature === "deaf" ? undefined : signal);
                if (nature === "throws") throw new Error("no");
                return i;
              },
            }),
          );
          const turn = world.turn(tools, { deadline: deadlineMs * MS, limits: { concurrency } });
          const step = turn.step("openai-chat");
          for (const [i, { atMs }] of calls.entries()) {
            world.clock.at(atMs * MS, () => step.chunk(wholeCall(i, `t${i}`)));
          }
          world.clock.at(150 * MS, () => {
            step.chunk(isWhole ? FINISH : delta({}, "length"));
            step.end();
          });
          let doneMs = Number.POSITIVE_INFINITY;
          void step.results().then(() => {
            doneMs = world.nowMs();
          });
          await world.clock.run((deadlineMs + 20) * MS);
          expect(turn.running).toBe(0);
          expect(doneMs).toBeLessThanOrEqual(Math.max(deadlineMs, 150));
          const seen = calls.filter(({ atMs }) => atMs < deadlineMs).length;
          const results = await step.results();
          expect(results.length).toBeGreaterThanOrEqual(
            step.verdict === "late" ? seen : calls.length,
          );
          await world.clock.run();
          expect(await step.results()).toEqual(results);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("takes its time from a deadline that somebody else has set, and its end from a signal", async () => {
    const world = runtimeWorld();
    const caller = new AbortController();
    const whole = Deadline.within(world.clock, "1s");
    const turn = world.turn([], { deadline: whole, signal: caller.signal });
    expect(turn.deadline.atUs).toBe(1_000 * MS);
    expect(turn.headers()).toEqual({ "x-manx-deadline-ms": "1000" });
    caller.abort(new Error("left"));
    expect(turn.deadline.isOver).toBe(true);
    expect(whole.isOver).toBe(false);
  });

  it("that is closed leaves no timer behind", async () => {
    const world = runtimeWorld();
    const turn = world.turn([world.timed("search", 5)], { deadline: "20s" });
    const step = turn.step("openai-chat");
    for (const chunk of [wholeCall(0, "search"), FINISH]) step.chunk(chunk);
    step.end();
    const closed = step.messages().then(() => turn.close());
    await world.clock.run();
    await closed;
    expect(world.nowMs()).toBe(5);
  });

  it("calls a message that was to have a call unsafe, not a final answer", () => {
    const world = runtimeWorld();
    const step = world.turn([]).step("gemini");
    step.chunk({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] });
    step.end();
    expect(step.verdict).toBe("unsafe");
  });
});
