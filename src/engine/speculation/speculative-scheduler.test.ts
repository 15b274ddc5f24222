import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { Batch } from "../batch.ts";
import { buildEngine } from "../build-engine.ts";
import { checkConfig } from "../config-check.ts";
import { RooflineCost } from "../cost-model.ts";
import { findGpu, findModel } from "../data-sheets.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../engine-config.ts";
import type { EngineRequest } from "../request.ts";
import { AcceptanceLaw, type Speculation } from "./speculation.ts";
import type { SpeculationTotals } from "./speculative-scheduler.ts";

const DRAFTS: Speculation = { draftTokens: 5, acceptance: 0.7, draftShare: 1 / 30 };
const LARGE: EngineConfig = { ...ENGINE_DEFAULTS, model: "llama-3.1-70b", ranks: 4 };

interface Run {
  readonly endUs: number;
  readonly steps: number;
  readonly computedTokens: number;
  readonly preemptions: number;
  readonly totals: SpeculationTotals | undefined;
  /** By request: time and number of each token. */
  readonly tokens: readonly (readonly (readonly [number, number])[])[];
}

interface Job {
  readonly atUs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

function run(config: EngineConfig, jobs: readonly Job[]): Run {
  const clock = new SimClock();
  const tokens: [number, number][][] = jobs.map(() => []);
  const engine = buildEngine(config, {
    clock,
    checked: true,
    sink: {
      onToken: (request: EngineRequest, nowUs) =>
        tokens[request.tag as number]!.push([nowUs, request.generated]),
      onFinish: (request) => expect(request.generated).toBe(request.outputTokens),
    },
  });
  for (const [i, { atUs, ...shape }] of jobs.entries()) {
    clock.at(atUs, () => engine.submit(shape, i));
  }
  clock.runSync();
  const { speculation } = engine.scheduler;
  expect(engine.scheduler.kv.reservedTokens).toBe(0);
  const { steps, computedTokens, preemptions } = engine.totals;
  return { endUs: clock.nowUs(), steps, computedTokens, preemptions, totals: speculation, tokens };
}

const alone = (outputTokens: number): Job[] => [{ atUs: 0, promptTokens: 100, outputTokens }];

describe("speculative decoding", () => {
  it("yields (1 − p⁶) / (1 − p) tokens a verification from five drafts, and the time that follows", () => {
    const plain = run(LARGE, alone(4_000));
    const drafted = run({ ...LARGE, speculation: DRAFTS }, alone(4_000));
    const { yieldedTokens, verifications, draftedTokens } = drafted.totals!;
    expect(yieldedTokens / verifications).toBeCloseTo((1 - 0.7 ** 6) / 0.3, 1);
    expect(draftedTokens).toBe(5 * verifications);
    // Five draft steps at a thirtieth each lengthen a step by a sixth.
    const speedUp = plain.endUs / drafted.endUs;
    expect(speedUp).toBeGreaterThan(2.2);
    expect(speedUp).toBeLessThan(2.94 / (1 + 5 / 30) + 0.1);
  });

  it("accepts all or nothing where that is declared, by position too", () => {
    const at = (acceptance: Speculation["acceptance"]): number =>
      run({ ...LARGE, speculation: { ...DRAFTS, draftShare: 0, acceptance } }, alone(61)).steps;
    expect(at(1)).toBe(1 + 60 / 6);
    expect(at([1, 1, 0, 1, 1])).toBe(1 + 60 / 3);
    expect(at(0)).toBe(61);
  });

  it("pays for the drafts and for nothing else when none is accepted", () => {
    const { totals, steps } = run(
      { ...LARGE, speculation: { ...DRAFTS, acceptance: 0 } },
      alone(61),
    );
    expect(steps).toBe(61);
    // It sees at once that it cannot win, and drafts nothing.
    expect(totals).toMatchObject({ draftedTokens: 0, switchedOff: 1, declinedSteps: 60 });
  });

  it("is given up where the batch is so large that verifying costs more than it yields, and taken up again", () => {
    const crowd = (n: number, outputTokens: number): Job[] =>
      Array.from({ length: n }, () => ({ atUs: 0, promptTokens: 16, outputTokens }));
    const config = { ...ENGINE_DEFAULTS, sequencesMax: 1_024, tokensMax: 8_192 };
    const few = run({ ...config, speculation: DRAFTS }, crowd(4, 100)).totals!;
    expect(few).toMatchObject({ switchedOff: 0, declinedSteps: 0 });
    const jobs = [...crowd(1_000, 20), ...crowd(4, 400)];
    const many = run({ ...config, speculation: DRAFTS }, jobs);
    expect(many.totals!.switchedOff).toBe(1);
    expect(many.totals!.declinedSteps).toBeGreaterThan(10);
    expect(many.totals!.verifications).toBeGreaterThan(100);
    const plain = run(config, jobs);
    expect(many.endUs).toBeLessThan(plain.endUs);
  });

  it("breaks even where the cost model says so", () => {
    const cost = new RooflineCost(findGpu("h100-sxm"), findModel("llama-3.1-8b"));
    const law = new AcceptanceLaw(DRAFTS);
    const wins = (answers: number): boolean => {
      const [plain, verify] = [new Batch(), new Batch()];
      for (const batch of [plain, verify]) {
        for (let i = 0; i < answers; i += 1) batch.countDecode(17);
      }
      verify.draftTokens = 5 * answers;
      const plainUs = cost.stepUs(plain);
      return (1 + law.mean(5)) * plainUs > cost.stepUs(verify) + (5 / 30) * plainUs;
    };
    const declines = (answers: number): boolean => {
      const config = { ...ENGINE_DEFAULTS, sequencesMax: 2_048, tokensMax: 65_536 };
      const jobs = Array.from({ length: answers }, () => ({
        atUs: 0,
        promptTokens: 16,
        outputTokens: 2,
      }));
      return run({ ...config, speculation: DRAFTS }, jobs).totals!.switchedOff > 0;
    };
    for (const answers of [1, 16, 64, 128, 256, 512, 1_024]) {
      expect([answers, declines(answers)]).toEqual([answers, !wins(answers)]);
    }
    expect(wins(1) && !wins(1_024)).toBe(true);
  });

  it("gives a request the same luck whatever runs beside it", () => {
    const config = { ...LARGE, speculation: { ...DRAFTS, seed: 7 } };
    const chunks = (jobs: readonly Job[]): number[] => {
      const sizes = new Map<number, number>();
      for (const [atUs] of run(config, jobs).tokens[0]!)
        sizes.set(atUs, (sizes.get(atUs) ?? 0) + 1);
      return [...sizes.values()];
    };
    const other = { atUs: 200_000, promptTokens: 50, outputTokens: 300 };
    expect(chunks([...alone(300), other])).toEqual(chunks(alone(300)));
    const elsewhere = { ...config, speculation: { ...DRAFTS, seed: 8 } };
    expect(run(elsewhere, alone(300)).tokens).not.toEqual(run(config, alone(300)).tokens);
  });

  it("conserves memory and drafts, repeats, and never writes past an answer's end, in the smallest memory", () => {
    const job = fc.record({
      atUs: fc.nat(400_000),
      promptTokens: fc.integer({ min: 1, max: 400 }),
      outputTokens: fc.integer({ min: 1, max: 60 }),
    });
    const levers = fc.record({
      scheduling: fc.constantFrom("continuous" as const, "chunked" as const),
      memory: fc.constantFrom("contiguous" as const, "paged" as const, "prefix" as const),
      sequencesMax: fc.integer({ min: 1, max: 8 }),
      tokensMax: fc.integer({ min: 4, max: 600 }),
      // From barely one request to many: the rest of the GPU is taken away.
      memoryShare: fc.constantFrom(0.2316, 0.2325, 0.26),
      acceptance: fc.constantFrom(0, 0.5, 1),
    });
    fc.assert(
      fc.property(fc.array(job, { maxLength: 25 }), levers, (jobs, { acceptance, ...rest }) => {
        const config: EngineConfig = {
          ...ENGINE_DEFAULTS,
          contextMax: 512,
          ...rest,
          speculation: { draftTokens: 4, acceptance, draftShare: 0 },
        };
        const first = run(config, jobs);
        for (const [i, { outputTokens }] of jobs.entries()) {
          const numbers = first.tokens[i]!.map(([, number]) => number);
          expect(numbers).toEqual(Array.from({ length: outputTokens }, (_, n) => n + 1));
        }
        const { draftedTokens, acceptedTokens, wastedTokens } = first.totals!;
        expect(draftedTokens).toBe(acceptedTokens + wastedTokens);
        const needed = jobs.reduce((sum, job) => sum + job.promptTokens + job.outputTokens - 1, 0);
        // What is computed beyond what has to be is what was drafted in vain.
        if (first.preemptions === 0) expect(first.computedTokens).toBe(needed + wastedTokens);
        expect(run(config, jobs)).toEqual(first);
      }),
      { numRuns: 40 },
    );
  });
});

describe("what is declared about it", () => {
  it("has to be possible", () => {
    const bad: readonly [Partial<Speculation>, string][] = [
      [{ draftTokens: 0 }, "speculation.draftTokens"],
      [{ draftTokens: 17 }, "speculation.draftTokens"],
      [{ acceptance: 1.2 }, "speculation.acceptance"],
      [{ acceptance: [0.9, 0.8] }, "speculation.acceptance"],
      [{ draftShare: 1 }, "speculation.draftShare"],
    ];
    for (const [part, where] of bad) {
      expect(() => checkConfig({ ...LARGE, speculation: { ...DRAFTS, ...part } })).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
      );
    }
    expect(() => checkConfig({ ...LARGE, scheduling: "static", speculation: DRAFTS })).toThrow(
      expect.objectContaining({ where: "scheduling" }),
    );
  });

  it("takes the draft model's weights out of the KV memory", () => {
    const without = checkConfig(LARGE).kvTokens;
    const missing = without - checkConfig({ ...LARGE, speculation: DRAFTS }).kvTokens;
    // A thirtieth of 141 GB at 320 KiB a token.
    expect(missing / (141.1e9 / 30 / 327_680)).toBeCloseTo(1, 2);
  });
});
