/** One twin on two clocks: live it must be as fast as the virtual one says. */
import { afterEach, describe, expect, it } from "vitest";
import { Random, realClock, SimClock } from "../../src/clock/index.ts";
import {
  buildEngine,
  type CostModel,
  ENGINE_DEFAULTS,
  type EngineConfig,
  type EngineRequest,
} from "../../src/engine/index.ts";
import { hello, post, startTwin, stopTwins } from "../support/live-twin.ts";

afterEach(stopTwins);

describe("the twin is one", () => {
  interface TimedRequest {
    readonly atUs: number;
    readonly promptTokens: number;
    readonly outputTokens: number;
  }
  const config: EngineConfig = { ...ENGINE_DEFAULTS, sequencesMax: 6, tokensMax: 256 };
  const cost: CostModel = { name: "slow", stepUs: (batch) => 8_000 + 40 * batch.tokens };

  /** Two steps of the engine: beyond it arrivals land in other batches than they should. */
  const LAG_LIMIT_US = 20_000;

  function virtualTtftUs(requests: readonly TimedRequest[]): number[] {
    const ttftUs: number[] = [];
    const clock = new SimClock();
    const onToken = (request: EngineRequest, nowUs: number): void => {
      if (request.generated === 1) ttftUs.push(nowUs - request.arrivedUs);
    };
    const sink = { onToken, onFinish: () => undefined };
    const engine = buildEngine(config, { clock, cost, sink });
    for (const request of requests) clock.at(request.atUs, () => engine.submit(request, undefined));
    clock.runSync();
    return ttftUs;
  }

  async function liveTtftUs(requests: readonly TimedRequest[]): Promise<number[]> {
    const server = await startTwin(config, { cost });
    // The first request of a process pays for compiling all that it passes through.
    await (await post(server, { messages: hello, stream: true, max_tokens: 5 })).text();
    const startUs = realClock.nowUs() + 20_000;
    return await Promise.all(
      requests.map(async ({ atUs, promptTokens, outputTokens }) => {
        const messages = [{ role: "user", content: "word ".repeat(promptTokens) }];
        const manx = { output_tokens: outputTokens };
        await realClock.sleepUntil(startUs + atUs);
        const response = await post(server, { messages, stream: true, manx });
        const reader = response.body!.getReader();
        await reader.read();
        const ttftUs = realClock.nowUs() - startUs - atUs;
        while (!(await reader.read()).done);
        return ttftUs;
      }),
    );
  }

  /** Runs `act` and tells how late this process's timers were meanwhile, at worst. */
  async function withLag<Value>(
    act: () => Promise<Value>,
  ): Promise<{ value: Value; lagUs: number }> {
    let lagUs = 0;
    let isOver = false;
    const sample = (dueUs: number): void => {
      lagUs = Math.max(lagUs, realClock.nowUs() - dueUs);
      const nextUs = realClock.nowUs() + 5_000;
      if (!isOver) realClock.at(nextUs, () => sample(nextUs));
    };
    sample(realClock.nowUs());
    const value = await act();
    isOver = true;
    return { value, lagUs };
  }

  it("has live the TTFT that it has in virtual time, on the same 40 requests", async (test) => {
    const random = new Random(7, "arrivals");
    let atUs = 0;
    const requests = Array.from({ length: 40 }, () => {
      atUs += Math.round(random.exponential(22_000));
      return { atUs, promptTokens: 20 + random.int(400), outputTokens: 5 + random.int(20) };
    });
    const median = (values: number[]): number =>
      values.toSorted((a, b) => a - b)[values.length / 2]! / 1_000;
    const virtualMs = median(virtualTtftUs(requests));
    // Queueing makes most of it, so a twin that scheduled otherwise live would be far off.
    expect(virtualMs).toBeGreaterThan(50);
    // What a process that was kept waiting measured says nothing about the twin; such a try does not count.
    const errorsMs: number[] = [];
    for (let tries = 0; tries < 5 && errorsMs.length === 0; tries += 1) {
      const { value, lagUs } = await withLag(() => liveTtftUs(requests));
      if (lagUs <= LAG_LIMIT_US) errorsMs.push(Math.abs(median(value) - virtualMs));
    }
    if (errorsMs.length === 0) {
      test.skip(`this machine held the process up for more than ${LAG_LIMIT_US} µs in every try`);
    }
    expect(Math.min(...errorsMs)).toBeLessThan(0.25 * virtualMs + 5);
  });
});
