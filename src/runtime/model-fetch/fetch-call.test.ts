/** What must hold of any call against any upstreams, whatever they do and whoever leaves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CHAT_URL,
  chatBody,
  type FetchScript,
  type FetchWorld,
  fetchWorld,
  refusal,
} from "../../../test/support/fetch-world.ts";
import { chatWire, delta } from "../../../test/support/wire-text.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { ModelCallRecord } from "./call-record.ts";
import type { ModelFetchOptions } from "./model-fetch.ts";

const END_MS = 600_000;
const FOREVER = Number.POSITIVE_INFINITY;

interface Plan {
  readonly kind: "answer" | "refuse" | "reject" | "silent" | "garbage";
  readonly headMs: number;
  readonly contentMs: number;
  readonly pieces: number;
  readonly gapMs: number;
  readonly end: "close" | "cut" | "hang" | "early";
  readonly status: number;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom("answer", "answer", "answer", "refuse", "reject", "silent", "garbage"),
  headMs: fc.constantFrom(0, 5, 300, 2_000),
  contentMs: fc.constantFrom(0, 10, 400, 3_000, 40_000),
  pieces: fc.integer({ min: 0, max: 4 }),
  gapMs: fc.constantFrom(0, 20, 1_500, 30_000),
  end: fc.constantFrom("close", "close", "close", "cut", "hang", "early"),
  status: fc.constantFrom(400, 401, 408, 429, 500, 503, 529),
});

/** Each hit's text names it, so that two answers in one body are seen. */
function scriptOf(of: Plan, hit: number): FetchScript {
  const { kind, headMs, contentMs, pieces, gapMs, end } = of;
  if (kind === "refuse") return { ...refusal(of.status), headMs };
  if (kind === "reject")
    return { headMs, rejects: of.status < 500 ? "ECONNREFUSED" : "ECONNRESET" };
  if (kind === "silent") return { headMs: FOREVER };
  if (kind === "garbage") return { headMs, chunks: [[contentMs, "data: {nonsense\n\n:\n"]] };
  const chunks: [number, string][] = [
    [headMs, chatWire(delta({ role: "assistant", content: "" }))],
    ...Array.from({ length: pieces }, (_, at): [number, string] => {
      return [headMs + contentMs + at * gapMs, chatWire(delta({ content: `<${hit}>` }))];
    }),
  ];
  const lastMs = chunks.at(-1)![0] + gapMs;
  if (end === "close" || end === "hang")
    chunks.push([lastMs, chatWire(delta({}, "stop"), "[DONE]")]);
  if (end === "early") return { headMs, chunks, end: { atMs: lastMs, how: "close" } };
  return { headMs, chunks, end: { atMs: lastMs, how: end } };
}

interface Caller {
  readonly atMs: number;
  /** When it leaves, by its signal or by cancelling the body; infinite for never. */
  readonly leavesMs: number;
  readonly by: "signal" | "body";
  /** Between two reads. */
  readonly readsMs: number;
  readonly store: boolean;
}

const caller: fc.Arbitrary<Caller> = fc.record({
  atMs: fc.integer({ min: 0, max: 20_000 }),
  leavesMs: fc.constantFrom(FOREVER, FOREVER, FOREVER, 0, 7, 350, 5_000),
  by: fc.constantFrom("signal", "body"),
  readsMs: fc.constantFrom(0, 0, 0, 25, 9_000),
  store: fc.boolean(),
});

interface Outcome {
  text: string;
  settled: number;
  settledMs: number;
  isOk: boolean;
  ended: "well" | "broke" | "left" | undefined;
}

function play(world: FetchWorld, run: typeof fetch, who: Caller): Outcome {
  const seen: Outcome = { text: "", settled: 0, settledMs: 0, isOk: false, ended: undefined };
  const controller = new AbortController();
  const init = { ...chatBody(who.store ? { store: true } : {}), signal: controller.signal };
  let body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  world.at(who.atMs + who.leavesMs, () => {
    if (who.by === "signal") controller.abort(new Error("left"));
    else if (seen.settled > 0 && seen.ended === undefined) {
      seen.ended = "left";
      void body?.cancel("left").catch(() => undefined);
    }
  });
  const read = async (): Promise<void> => {
    try {
      const response = await run(CHAT_URL, init);
      seen.isOk = response.ok;
      body = response.body!.getReader();
    } finally {
      seen.settled += 1;
      seen.settledMs = world.nowMs();
    }
    for (;;) {
      if (who.readsMs > 0)
        await world.clock.sleepUntil(world.clock.nowUs() + who.readsMs * US_PER_MS);
      const { done, value } = await body.read();
      if (done) break;
      seen.text += new TextDecoder().decode(value);
    }
    seen.ended ??= "well";
  };
  world.at(who.atMs, () => {
    read().catch(() => {
      seen.ended ??= "broke";
    });
  });
  return seen;
}

const setting = fc.record({
  plans: fc.array(plan, { minLength: 1, maxLength: 8 }),
  callers: fc.array(caller, { minLength: 1, maxLength: 8 }),
  attempts: fc.integer({ min: 1, max: 4 }),
  targets: fc.integer({ min: 1, max: 3 }),
  hedge: fc.boolean(),
  deadlineMs: fc.constantFrom(FOREVER, FOREVER, 1, 900, 6_000),
});

type Setting = typeof setting extends fc.Arbitrary<infer One> ? One : never;

/** @param scripts of the hits, in their order. */
function checkCaller(outcome: Outcome, scripts: readonly FetchScript[]): void {
  expect(outcome.settled).toBe(1);
  expect(outcome.ended).toBeDefined();
  const hits = new Set([...outcome.text.matchAll(/<(\d+)>/g)].map(([, hit]) => Number(hit)));
  expect(hits.size).toBeLessThanOrEqual(1);
  for (const hit of hits) {
    const wire = (scripts[hit]!.chunks ?? []).map(([, text]) => text).join("");
    // Bytes are the upstream's own, from the first on; only an error event may follow them.
    const own = outcome.text.split("\n\n\n\n")[0]!;
    expect(wire.startsWith(own) || wire === outcome.text).toBe(true);
    if (outcome.ended === "well") expect(outcome.text).toBe(wire);
  }
}

function checkRecord(record: ModelCallRecord, { attempts, deadlineMs }: Setting): void {
  const { attempts: made, beganUs, endedUs, isStream, outcome } = record;
  const lastUs = beganUs + (deadlineMs + 20) * US_PER_MS;
  const begun = made.filter(({ cause }) => cause !== "hedge").length;
  expect(begun).toBeLessThanOrEqual(attempts + 1);
  expect(made.length - begun).toBeLessThanOrEqual(1);
  const delivered = made.filter(({ end }) => end === "delivered").length;
  expect(delivered).toBe(outcome === "ok" ? 1 : 0);
  const contentUs = Math.min(...made.map((one) => one.contentUs ?? FOREVER));
  for (const one of made) {
    expect(one.end).toBeDefined();
    expect(isStream && one.beganUs > contentUs).toBe(false);
    expect(one.beganUs).toBeLessThanOrEqual(beganUs + deadlineMs * US_PER_MS);
    expect(one.endedUs).toBeLessThanOrEqual(lastUs);
  }
  expect(endedUs).toBeLessThanOrEqual(lastUs);
}

/** Every fetch has ended, or was told to, and has let go. */
function checkHits(world: FetchWorld, scripts: readonly FetchScript[]): void {
  for (const [number, hit] of world.hits.entries()) {
    const isOver = hit.endedMs !== undefined || hit.cancelledMs !== undefined;
    expect(isOver || scripts[number]!.rejects !== undefined).toBe(true);
  }
}

function optionsOf({ attempts, targets, hedge, deadlineMs }: Setting): ModelFetchOptions {
  return {
    targets: Array.from({ length: targets }, (_, at) => ({
      name: `t${at}`,
      baseURL: `https://t${at}.example.com/v1`,
    })),
    policy: {
      timeouts: { headers: "20s", firstContent: "10s", lifeGap: "15s", progressGap: "15s" },
      retry: { attempts, backoff: "100ms" },
      hedge: hedge && { floor: "50ms", share: 1, percentile: 50 },
    },
    ...(Number.isFinite(deadlineMs) && { deadline: `${deadlineMs}ms` }),
  };
}

describe("any call", () => {
  it("gets one answer, whole or with an error, and leaves nothing behind", async () => {
    const check = async (given: Setting): Promise<void> => {
      const { plans, callers, deadlineMs } = given;
      const scripts: FetchScript[] = [];
      const world = fetchWorld((_, number) => {
        scripts[number] = scriptOf(plans[number % plans.length]!, number);
        return scripts[number];
      });
      const run = world.manx(optionsOf(given));
      const seen = callers.map((who) => play(world, run, who));
      await world.clock.run(END_MS * US_PER_MS);

      const begun = callers.filter(({ leavesMs, by }) => leavesMs > 0 || by === "body");
      expect(world.records).toHaveLength(begun.length);
      for (const [at, outcome] of seen.entries()) {
        checkCaller(outcome, scripts);
        if (!outcome.isOk) continue;
        expect(outcome.settledMs).toBeLessThanOrEqual(callers[at]!.atMs + deadlineMs + 20);
      }
      for (const record of world.records) checkRecord(record, given);
      checkHits(world, scripts);
      const calls = world.records.length;
      expect(run.stats()).toMatchObject({ open: 0, calls, observerErrors: 0 });
    };
    await fc.assert(fc.asyncProperty(setting, check), { numRuns: 300 });
  }, 120_000);

  it("keeps hedges and retries within their shares, in calls and in tokens", async () => {
    // A third fails, and an eighth is slow: far more than the budgets allow.
    const world = fetchWorld((_, number) =>
      number % 3 === 0
        ? refusal(503)
        : scriptOf({ ...ANSWER, contentMs: number % 8 === 1 ? 4_000 : 50 }, number),
    );
    const run = world.manx({
      policy: { hedge: { floor: "100ms", percentile: 80 }, breaker: false },
    });
    const calls = 2_000;
    for (let i = 0; i < calls; i += 1) {
      world.at(
        i * 100,
        () =>
          void run(CHAT_URL, chatBody())
            .then((one) => one.text())
            .catch(() => ""),
      );
    }
    await world.clock.run(1_000 * US_PER_S);
    const { hedges, retries, tokens } = run.stats();
    const minutes = (calls * 100) / 60_000;
    expect(hedges.begun).toBeLessThanOrEqual(0.05 * calls);
    expect(retries).toBeLessThanOrEqual(20 + Math.max(0.1 * calls, 6 * minutes));
    expect(tokens.wasted).toBeLessThanOrEqual(0.2 * tokens.asked);
    expect(hedges.begun).toBeGreaterThan(0.03 * calls);
    expect(hedges.refused.budget).toBeGreaterThan(0);
  }, 60_000);
});

const ANSWER: Plan = {
  ...{ kind: "answer", headMs: 5, contentMs: 50, pieces: 2, gapMs: 20, end: "close", status: 0 },
};
