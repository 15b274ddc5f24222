import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../engine-config.ts";
import type { EngineRequest } from "../request.ts";
import { DisaggregatedEngine, type DisaggregatedOptions } from "./disaggregated-engine.ts";

const STEP_US = 1_000;
/** Llama-3.1-8B: 128 KiB a token. */
const BYTES_PER_TOKEN = 131_072;
/** Room for some 610 tokens of KV beside the model's weights on an H100. */
const TINY_SHARE = 0.23165;

interface World {
  readonly clock: SimClock;
  readonly engine: DisaggregatedEngine;
  readonly log: [number, string][];
  readonly requests: EngineRequest[];
}

function world(
  part: Partial<DisaggregatedOptions> = {},
  config: Partial<EngineConfig> = {},
): World {
  const clock = new SimClock();
  const log: [number, string][] = [];
  const name = (request: EngineRequest): string => String(request.tag);
  const engine = new DisaggregatedEngine({
    clock,
    engines: { prefill: 1, decode: 1 },
    prefill: { ...ENGINE_DEFAULTS, contextMax: 512, ...config },
    link: "infiniband-400g",
    cost: { name: "fixed", stepUs: () => STEP_US },
    checked: true,
    ...part,
    sink: {
      onToken: (request, nowUs) => log.push([nowUs, `${name(request)} ${request.generated}`]),
      onFinish: (request, nowUs) => log.push([nowUs, `${name(request)} done`]),
      onPreempt: (request, nowUs) => log.push([nowUs, `${name(request)} thrown out`]),
      onTransfer: (request, readyUs, startUs, endUs) =>
        log.push([endUs, `${name(request)} moved ${startUs - readyUs} + ${endUs - startUs}`]),
    },
  });
  return { clock, engine, log, requests: [] };
}

function add(
  to: World,
  atUs: number,
  promptTokens: number,
  outputTokens: number,
  source = 0,
): void {
  to.clock.at(atUs, () => {
    const name = to.requests.length;
    const request = to.engine.submit({ promptTokens, outputTokens }, name, source);
    to.requests.push(request as EngineRequest);
  });
}

/** On the link, µs. */
const onLink = (tokens: number, bytesPerUs: number, latencyUs: number): number =>
  Math.ceil(latencyUs + (tokens * BYTES_PER_TOKEN) / bytesPerUs);

function reserved({ engine }: World): number[] {
  return [...engine.prefillEngines, ...engine.decodeEngines].map(
    ({ scheduler }) => scheduler.kv.reservedTokens,
  );
}

describe("a request on two pools", () => {
  it("has its first token from the prefill, then the transfer, then one step a token", () => {
    const one = world();
    add(one, 0, 100, 3);
    one.clock.runSync();
    const movedUs = onLink(100, 40_000, 5);
    expect(one.log).toEqual([
      [STEP_US, "0 1"],
      [STEP_US + movedUs, `0 moved 0 + ${movedUs}`],
      [2 * STEP_US + movedUs, "0 2"],
      [3 * STEP_US + movedUs, "0 3"],
      [3 * STEP_US + movedUs, "0 done"],
    ]);
    expect(one.engine.handovers).toMatchObject({
      transfers: 1,
      bytes: 100 * BYTES_PER_TOKEN,
      transferUs: movedUs,
      waitUs: 0,
      lost: 0,
    });
    expect(one.requests[0]).toMatchObject({
      scheduledUs: 0,
      firstTokenUs: STEP_US,
      state: "finished",
    });
    expect(reserved(one)).toEqual([0, 0]);
  });

  it("moves nothing for an answer of one token", () => {
    const one = world();
    add(one, 0, 100, 1);
    one.clock.runSync();
    expect(one.log).toEqual([
      [STEP_US, "0 1"],
      [STEP_US, "0 done"],
    ]);
    expect([one.engine.handovers.transfers, ...reserved(one)]).toEqual([0, 0, 0]);
  });

  it("keeps its KV at the source until the transfer has ended, and sets room aside before it starts", () => {
    const one = world({ link: "ethernet-25g" });
    add(one, 0, 100, 2);
    const movedUs = onLink(100, 2_500, 50);
    const seen: number[][] = [];
    for (const atUs of [STEP_US + 1, STEP_US + movedUs - 1, STEP_US + movedUs + 1]) {
      one.clock.at(atUs, () => seen.push(reserved(one)));
    }
    one.clock.runSync();
    expect(seen).toEqual([
      [112, 112],
      [112, 112],
      [0, 112],
    ]);
  });

  it("waits for the one before it on the link, and a slow link shows as waiting there", () => {
    const waited = (link: DisaggregatedOptions["link"]): number => {
      const one = world({ link, engines: { prefill: 1, decode: 2 } });
      for (let i = 0; i < 8; i += 1) add(one, 0, 200, 20);
      one.clock.runSync();
      expect(one.engine.handovers.transfers).toBe(8);
      return one.engine.handovers.waitUs;
    };
    const eachUs = onLink(200, 2_500, 50);
    // The first is ready after one step, the others after two; the k-th goes when k are through.
    expect(waited("ethernet-25g")).toBe(28 * eachUs - 7 * STEP_US);
    expect(waited("nvlink")).toBeLessThan(waited("roce-200g"));
  });

  it("does not stop answers under way for a prompt", () => {
    const cost = {
      name: "prompts are slow",
      stepUs: (batch: { prefillTokens: number }) => 1_000 + 100 * batch.prefillTokens,
    };
    const one = world({ cost });
    add(one, 0, 10, 100);
    add(one, 20_000, 500, 2);
    one.clock.runSync();
    const times = one.log.filter(([, what]) => /^0 \d+$/.test(what)).map(([atUs]) => atUs);
    const gaps = times.slice(1).map((atUs, i) => atUs - times[i]!);
    expect(Math.max(...gaps.slice(1))).toBe(1_000);
  });
});

/** Each token of a whole answer once and in order, then its end; of an aborted one nothing after the abort. */
function expectOneEnd(one: World, i: number, outputTokens: number, cut: string | undefined): void {
  const mine = one.log.filter(([, what]) => what.startsWith(`${i} `)).map(([, what]) => what);
  const told = mine.filter((what) => /^\d+ \d+$/.test(what)).map((what) => what.split(" ")[1]);
  const isDone = mine.filter((what) => what.endsWith("done")).length;
  if (cut === undefined) {
    expect(told).toEqual(Array.from({ length: outputTokens }, (_, k) => String(k + 1)));
    expect(isDone).toBe(1);
  } else {
    expect([cut, isDone]).toEqual([`aborted after ${told.length}`, 0]);
  }
}

describe("pressure", () => {
  it("of a full decode pool reaches the prefill queue, and is gone when it is", () => {
    const tight = { memoryShare: TINY_SHARE, contextMax: 512 };
    const one = world({}, tight);
    for (let i = 0; i < 12; i += 1) add(one, 0, 200, 60);
    one.clock.at(30 * STEP_US, () => {
      const [prefill] = one.engine.prefillEngines;
      expect(prefill!.scheduler.running).toBe(0);
      expect(prefill!.scheduler.waiting).toBeGreaterThan(3);
      expect(reserved(one)[0]).toBeGreaterThan(300);
    });
    one.clock.runSync();
    expect(one.log.filter(([, what]) => what.endsWith("done"))).toHaveLength(12);
    expect(reserved(one)).toEqual([0, 0]);
  });

  it("never lets two wait for each other's memory", () => {
    // Two answers outgrow the memory while a third is on its way: one is thrown out and needs the third's room.
    const one = world({ link: "ethernet-25g" }, { memoryShare: TINY_SHARE, contextMax: 608 });
    add(one, 0, 150, 300);
    add(one, 0, 150, 300);
    add(one, 60_000, 180, 300);
    one.clock.runSync();
    expect(one.log.filter(([, what]) => what.endsWith("done"))).toHaveLength(3);
    expect(one.log.some(([, what]) => what.endsWith("thrown out"))).toBe(true);
    expect(one.engine.handovers.lost).toBe(1);
  });

  it("keeps every invariant under random load, tiny memory, slow links and aborts in every phase", () => {
    const job = fc.record({
      atUs: fc.nat(60_000),
      promptTokens: fc.integer({ min: 1, max: 200 }),
      outputTokens: fc.integer({ min: 1, max: 200 }),
      abortAfterUs: fc.option(fc.nat(60_000), { nil: undefined, freq: 2 }),
    });
    const setup = fc.record({
      prefill: fc.integer({ min: 1, max: 3 }),
      decode: fc.integer({ min: 1, max: 3 }),
      link: fc.constantFrom("nvlink" as const, "ethernet-25g" as const),
      memory: fc.constantFrom("paged" as const, "contiguous" as const, "prefix" as const),
      scheduling: fc.constantFrom("chunked" as const, "continuous" as const),
      tokensMax: fc.integer({ min: 8, max: 400 }),
      drafts: fc.boolean(),
    });
    let lost = 0;
    let thrownOut = 0;
    fc.assert(
      fc.property(fc.array(job, { maxLength: 30 }), setup, (jobs, all) => {
        const { prefill, decode, link, drafts, ...levers } = all;
        const one = world(
          { link, engines: { prefill, decode } },
          {
            ...levers,
            memoryShare: TINY_SHARE,
            contextMax: 400,
            pieceTokens: 16,
            ...(drafts && { speculation: { draftTokens: 3, acceptance: 0.6, draftShare: 0 } }),
          },
        );
        const ended = new Map<number, string>();
        for (const [i, { atUs, promptTokens, outputTokens, abortAfterUs }] of jobs.entries()) {
          one.clock.at(atUs, () => {
            const shape = { promptTokens, outputTokens, prefixIds: [i % 3] };
            const request = one.engine.submit(shape, i, i % prefill);
            if (abortAfterUs === undefined) return;
            one.clock.at(atUs + abortAfterUs, () => {
              const isOpen = one.engine.abort(request as EngineRequest);
              expect(one.engine.abort(request as EngineRequest)).toBe(false);
              if (isOpen) ended.set(i, `aborted after ${request.generated}`);
            });
          });
        }
        one.clock.runSync();
        for (const [i, { outputTokens }] of jobs.entries()) {
          expectOneEnd(one, i, outputTokens, ended.get(i));
        }
        expect(reserved(one).every((tokens) => tokens === 0)).toBe(true);
        expect(one.engine.openPromptTokens.every((tokens) => tokens === 0)).toBe(true);
        lost += one.engine.handovers.lost;
        thrownOut += one.log.filter(([, what]) => what.endsWith("thrown out")).length;
      }),
      { numRuns: 150, seed: 11 },
    );
    expect(lost).toBeGreaterThan(0);
    expect(thrownOut).toBeGreaterThan(0);
  });
});

describe("pools that cannot be", () => {
  it("are refused", () => {
    const bad: readonly [Partial<DisaggregatedOptions>, string][] = [
      [{ engines: { prefill: 0, decode: 1 } }, "pools.prefill"],
      [{ engines: { prefill: 1, decode: 1.5 } }, "pools.decode"],
      [{ prefill: { ...ENGINE_DEFAULTS, scheduling: "static" } }, "prefill.scheduling"],
      [{ decode: { ...ENGINE_DEFAULTS, model: "qwen2.5-7b" } }, "decode.model"],
    ];
    for (const [part, where] of bad) {
      expect(() => world(part)).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where }),
      );
    }
    expect(() => world({ link: "infiniband" as never })).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
    );
  });

  it("refuse what one of them could never hold", () => {
    const one = world({}, { memoryShare: TINY_SHARE, contextMax: 4_096 });
    expect(() => one.engine.submit({ promptTokens: 500, outputTokens: 200 }, 0, 0)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_NEVER_FITS" }),
    );
    one.clock.runSync();
    expect(one.log).toEqual([]);
  });
});
