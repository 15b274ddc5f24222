/**
 * What this client, on this machine, now, would add to a perfect server's figures: a second of load against a server in
 * this very process whose write times are known. The server's own work is in the error, so it is an upper bound; a run's
 * percentiles cannot be finer than it.
 */
import type { Clock } from "../clock/index.ts";
import type { Quantile } from "../stats/index.ts";
import { Accuracy, Tap } from "./accuracy.ts";
import { LiveTarget } from "./live-target.ts";
import { startLoopbackMock } from "./loopback-mock.ts";
import { runOpenLoop } from "./open-loop.ts";
import { generateWorkload } from "./workload.ts";

export interface Calibration {
  readonly ttftErrorP50: Quantile;
  readonly ttftErrorP99: Quantile;
  readonly gapErrorP50: Quantile;
  readonly gapErrorP99: Quantile;
}

const SPAN_US = 600_000;
const STREAMS_PER_S = 250;
const CHUNKS = 10;
const GAP_US = 10_000;

/** Takes about 0.8 s. */
export async function calibrate(clock: Clock, signal?: AbortSignal): Promise<Calibration> {
  const accuracy = new Accuracy();
  const truth = new Map<string, readonly number[]>();
  const mock = await startLoopbackMock({
    clock,
    ttftUs: GAP_US,
    gapUs: GAP_US,
    chunks: CHUNKS,
    onTruth: (id, writesUs) => truth.set(id, [...writesUs]),
  });
  const nonce = "calibration";
  const target = new LiveTarget({ url: mock.url, clock, model: "mock", nonce, seed: 0 });
  try {
    await target.warm(8);
    await runOpenLoop({
      name: "calibration",
      world: "live",
      seed: 0,
      conditions: {
        target: "loopback",
        arrivals: "poisson",
        workload: "mock",
        temperature: "warm",
        cacheMode: "none",
        setup: {},
      },
      clock,
      requests: generateWorkload({
        process: "poisson",
        ratePerS: STREAMS_PER_S,
        durationUs: SPAN_US,
        seed: 0,
        promptTokens: 16,
        outputTokens: CHUNKS,
      }),
      spanUs: SPAN_US,
      target: new Tap(target, ({ index, intendedUs }, { stream }) => {
        if (stream === null || stream.ttftUs === null) return;
        const writesUs = truth.get(`${nonce}-${index}`);
        accuracy.add(writesUs, intendedUs + stream.ttftUs, stream.chunkGapsUs);
      }),
      ...(signal !== undefined && { signal }),
    });
  } finally {
    target.close();
    await mock.close();
  }
  return {
    ttftErrorP50: accuracy.ttft(0.5),
    ttftErrorP99: accuracy.ttft(0.99),
    gapErrorP50: accuracy.gap(0.5),
    gapErrorP99: accuracy.gap(0.99),
  };
}
