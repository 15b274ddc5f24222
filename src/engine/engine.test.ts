import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { buildEngine } from "./build-engine.ts";
import { checkConfig, kvTokens } from "./config-check.ts";
import { ContinuousBatcher } from "./continuous-batcher.ts";
import { findGpu, findModel, kvBytesPerToken, weightBytes } from "./data-sheets.ts";
import { Engine } from "./engine.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "./engine-config.ts";
import { PagedKv } from "./kv-memory.ts";
import type { EngineRequest } from "./request.ts";

const quiet = { onToken: () => undefined, onFinish: () => undefined };

describe("Engine", () => {
  it("ends a step at its start plus its price, with no gap while there is work", () => {
    const clock = new SimClock();
    const tokensUs: number[] = [];
    const scheduler = new ContinuousBatcher(new PagedKv(160, 16), {
      sequencesMax: 4,
      tokensMax: 64,
      prompts: "chunked",
    });
    const engine = new Engine({
      clock,
      scheduler,
      cost: { name: "fixed", stepUs: () => 100 },
      contextMax: 100,
      checked: true,
      sink: { onToken: (_, nowUs) => tokensUs.push(nowUs), onFinish: () => undefined },
    });
    clock.at(30, () => {
      engine.submit({ promptTokens: 5, outputTokens: 3 }, undefined);
    });
    clock.runSync();
    expect(tokensUs).toEqual([130, 230, 330]);
    expect(engine.totals).toMatchObject({ steps: 3, busyUs: 300, requestSteps: 3, lagUsMax: 0 });
  });

  it("starts on whoever came after a step's end and before that step settled late", () => {
    /** A host whose timers are 40 µs late. */
    class LateClock extends SimClock {
      override at(atUs: number, run: () => void) {
        return super.at(atUs + 40, run);
      }
    }
    const clock = new LateClock();
    const ended: string[] = [];
    const engine = buildEngine(ENGINE_DEFAULTS, {
      clock,
      cost: { name: "fixed", stepUs: () => 100 },
      sink: { ...quiet, onFinish: ({ tag }, nowUs) => ended.push(`${tag} @${nowUs}`) },
    });
    engine.submit({ promptTokens: 5, outputTokens: 1 }, "first");
    // Comes at 120: the first step has ended at 100 and settles at 140.
    clock.at(80, () => {
      engine.submit({ promptTokens: 5, outputTokens: 1 }, "second");
    });
    clock.runSync();
    expect(ended).toEqual(["first @100", "second @240"]);
  });

  it("refuses what could never fit, with the numbers, and nothing that could", () => {
    const config: EngineConfig = { ...ENGINE_DEFAULTS, contextMax: 1_000 };
    const engine = buildEngine(config, { clock: new SimClock(), sink: quiet });
    expect(() => engine.submit({ promptTokens: 900, outputTokens: 101 }, 0)).toThrow(
      expect.objectContaining({
        code: "MANX_REQUEST_NEVER_FITS",
        expected: "at most 1000 tokens",
        got: "900 prompt + 101 output = 1001 tokens",
      }),
    );
    engine.submit({ promptTokens: 900, outputTokens: 100 }, 0);
  });

  it("takes the size of the KV memory from who knows it better than the sheets", () => {
    const clock = new SimClock();
    const config: EngineConfig = { ...ENGINE_DEFAULTS, kvTokens: 41_408 };
    expect(buildEngine(config, { clock, sink: quiet }).scheduler.kv.totalTokens).toBe(41_408);
    expect(() => checkConfig({ ...config, kvTokens: 0.5 })).toThrow(
      expect.objectContaining({ where: "kvTokens" }),
    );
  });

  it("gives the same times for the same requests, and every answer its tokens, under any lever", () => {
    const request = fc.record({
      atUs: fc.nat(3_000_000),
      promptTokens: fc.integer({ min: 1, max: 900 }),
      outputTokens: fc.integer({ min: 1, max: 60 }),
    });
    const config = fc.record({
      scheduling: fc.constantFrom("static" as const, "continuous" as const, "chunked" as const),
      memory: fc.constantFrom("contiguous" as const, "paged" as const),
      sequencesMax: fc.integer({ min: 1, max: 8 }),
      tokensMax: fc.integer({ min: 8, max: 600 }),
      fillWaitUs: fc.nat(50_000),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), config, (requests, levers) => {
        const run = (): string => {
          const clock = new SimClock();
          const ends: [number, number, number][] = [];
          const engine = buildEngine(
            { ...ENGINE_DEFAULTS, contextMax: 1_024, ...levers },
            {
              clock,
              checked: true,
              sink: {
                onToken: () => undefined,
                onFinish: (done: EngineRequest, nowUs) => {
                  expect(done.generated).toBe(done.outputTokens);
                  expect(done.firstTokenUs).toBeGreaterThan(done.scheduledUs);
                  ends.push([done.arrivedUs, done.firstTokenUs, nowUs]);
                },
              },
            },
          );
          for (const { atUs, ...shape } of requests) clock.at(atUs, () => engine.submit(shape, 0));
          clock.runSync();
          expect(ends).toHaveLength(requests.length);
          expect(engine.scheduler.kv.reservedTokens).toBe(0);
          return JSON.stringify([ends, engine.totals]);
        };
        expect(run()).toBe(run());
      }),
      { numRuns: 60 },
    );
  });
});

describe("data sheets and configs", () => {
  it("know the sizes that the model cards state", () => {
    expect(weightBytes(findModel("llama-3.1-8b")) / 1e9).toBeCloseTo(16.06, 1);
    expect(weightBytes(findModel("llama-3.1-70b")) / 1e9).toBeCloseTo(141.1, 0);
    expect(weightBytes(findModel("qwen2.5-7b")) / 1e9).toBeCloseTo(15.2, 0);
    expect(kvBytesPerToken(findModel("llama-3.1-8b"))).toBe(128 * 1_024);
    expect(kvBytesPerToken(findModel("llama-3.1-70b"))).toBe(320 * 1_024);
  });

  it("show the arithmetic when a model does not fit", () => {
    const sum = expect.objectContaining({
      code: "MANX_CONFIG_IMPOSSIBLE",
      expected: "weights 131.4 GiB + other 3.5 GiB below 72.0 GiB",
    });
    expect(() => kvTokens(findGpu("h100-sxm"), findModel("llama-3.1-70b"), 1, 0.9)).toThrow(sum);
    expect(kvTokens(findGpu("h100-sxm"), findModel("llama-3.1-70b"), 4, 0.9)).toBeGreaterThan(0);
  });

  it("refuse numbers that cannot be, naming the field", () => {
    const bad: readonly [Partial<EngineConfig>, string][] = [
      [{ blockTokens: 0 }, "blockTokens"],
      [{ sequencesMax: 1.5 }, "sequencesMax"],
      [{ ranks: 3 }, "ranks"],
      [{ ranks: 16 }, "ranks"],
      [{ memoryShare: 1.2 }, "memoryShare"],
      [{ contextMax: 200_000 }, "contextMax"],
      [{ fillWaitUs: -1 }, "fillWaitUs"],
    ];
    for (const [part, where] of bad) {
      expect(() => checkConfig({ ...ENGINE_DEFAULTS, ...part })).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
      );
    }
    expect(() => checkConfig({ ...ENGINE_DEFAULTS, gpu: "h100" })).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN", hint: 'did you mean "h100-sxm"?' }),
    );
  });
});
