/**
 * Golden scenario of retries: a policy that 50 ms services taught, three tries of 10 s with pauses of 1 and 2 s, on calls that
 * take 8 s at the median and 18 s at p95. Beside it the same calls by `modelFetch`, which takes slow for slow.
 *
 * Nobody knows why a call was slow, so there are two worlds: by chance, where each attempt draws anew, and by nature, where the
 * prompt is what makes it slow. What a policy does lies between the two.
 */
import { type Clock, Random, SimClock } from "../clock/index.ts";
import { formatUs, US_PER_S } from "../core/index.ts";
import { type ModelFetchOptions, modelFetch } from "../runtime/index.ts";
import { type Quantile, sampleQuantile } from "../stats/index.ts";
import { simulatedProvider } from "./simulated-provider.ts";

const MEDIAN_US = 8 * US_PER_S;
const P95_US = 18 * US_PER_S;
/** Of the normal distribution. */
const Z_95 = 1.644854;
const SIGMA = Math.log(P95_US / MEDIAN_US) / Z_95;
const NAIVE_TIMEOUT_US = 10 * US_PER_S;
const NAIVE_PAUSES_US = [US_PER_S, 2 * US_PER_S];
const ARRIVAL_US = US_PER_S;

export type SlowBy = "chance" | "nature";
export type RetryHand = "naive" | "manx" | "manx, hedged";

export interface RetryTail {
  readonly hand: RetryHand;
  readonly slowBy: SlowBy;
  readonly n: number;
  /** Of all calls, those that fail at the time of their failure; µs. */
  readonly p50: Quantile;
  readonly p95: Quantile;
  readonly p99: Quantile;
  /** Requests that the provider was asked, per call. */
  readonly costFactor: number;
  readonly failShare: number;
}

type Caller = (body: string) => Promise<unknown>;

/** @param calls at least 1,000, or a p99 says nothing. */
export async function retryTail(
  hand: RetryHand,
  slowBy: SlowBy,
  { calls, seed }: { readonly calls: number; readonly seed: number },
): Promise<RetryTail> {
  const clock = new SimClock();
  const dice = new Random(seed, "latencies");
  const draw = (): number => Math.round(MEDIAN_US * Math.exp(SIGMA * dice.normal()));
  const own = Array.from({ length: calls }, draw);
  const provider = simulatedProvider(clock, (body) => {
    return slowBy === "chance" ? draw() : own[(JSON.parse(body) as { user: number }).user]!;
  });
  const run = hand === "naive" ? naive(clock, provider.fetch) : manx(clock, provider.fetch, hand);
  const tookUs: number[] = [];
  let failed = 0;
  for (let user = 0; user < calls; user += 1) {
    clock.at(user * ARRIVAL_US, () => {
      const beganUs = clock.nowUs();
      const body = JSON.stringify({ model: "sim", stream: true, user, messages: [] });
      run(body)
        .catch(() => {
          failed += 1;
        })
        .finally(() => tookUs.push(clock.nowUs() - beganUs));
    });
  }
  await clock.run();
  tookUs.sort((a, b) => a - b);
  return {
    ...{ hand, slowBy, n: tookUs.length },
    p50: sampleQuantile(tookUs, 0.5),
    p95: sampleQuantile(tookUs, 0.95),
    p99: sampleQuantile(tookUs, 0.99),
    costFactor: provider.asked / calls,
    failShare: failed / calls,
  };
}

/** Both worlds, with each hand, in the order of a table. */
export async function retryTails(size: {
  readonly calls: number;
  readonly seed: number;
}): Promise<readonly RetryTail[]> {
  const tails: RetryTail[] = [];
  for (const slowBy of ["chance", "nature"] as const) {
    for (const hand of ["naive", "manx", "manx, hedged"] as const) {
      tails.push(await retryTail(hand, slowBy, size));
    }
  }
  return tails;
}

export function retryTailLines(tails: readonly RetryTail[]): string[] {
  return tails.map(({ hand, slowBy, n, p50, p95, p99, costFactor, failShare }) => {
    const times = [p50, p95, p99].map(({ value }) => formatUs(value).padStart(6)).join("  ");
    return (
      `slow by ${slowBy.padEnd(6)}  ${hand.padEnd(12)}  p50, p95, p99 ${times}  ` +
      `cost ${costFactor.toFixed(2)}×  failed ${(100 * failShare).toFixed(1).padStart(4)} %  n ${n}`
    );
  });
}

/** Time out, wait, try again: what a wrapper around `fetch` usually is. */
function naive(clock: Clock, send: typeof fetch): Caller {
  const attempt = async (body: string): Promise<string> => {
    const { signal, cancel } = clock.deadline(clock.nowUs() + NAIVE_TIMEOUT_US);
    try {
      const response = await send("https://sim.example/v1/chat/completions", { body, signal });
      return await response.text();
    } finally {
      cancel();
    }
  };
  return async (body) => {
    for (const pauseUs of NAIVE_PAUSES_US) {
      try {
        return await attempt(body);
      } catch {
        await clock.sleepUntil(clock.nowUs() + pauseUs);
      }
    }
    return await attempt(body);
  };
}

function manx(clock: Clock, send: typeof fetch, hand: RetryHand): Caller {
  const policy: NonNullable<ModelFetchOptions["policy"]> = { hedge: hand === "manx, hedged" };
  const run = modelFetch({ clock, fetch: send, random: new Random(1, "model calls"), policy });
  return async (body) => {
    const init = { method: "POST", body };
    const response = await run("https://sim.example/v1/chat/completions", init);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.text();
  };
}
