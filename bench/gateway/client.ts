/** Loads one base URL: open loop, timed from the intended start; or closed loop, as fast as it answers. */
import { Pool } from "undici";
import { Random, realClock } from "../../src/clock/index.ts";

export interface OpenLoop {
  /** Latencies in ms from the intended start: whole answers for JSON, first event for streams. */
  readonly latenciesMs: number[];
  /** The largest gap between two events, per stream. */
  readonly gapsMs: number[];
  readonly errors: number;
}

const PROMPT = "Explain tail latency. ".repeat(90);

function body(model: string): string {
  const stream = model !== "mock";
  return JSON.stringify({ model, stream, messages: [{ role: "user", content: PROMPT }] });
}

interface Sent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function sent(model: string, more: Readonly<Record<string, string>> = {}): Sent {
  const headers = { "content-type": "application/json", authorization: "Bearer x", ...more };
  return { body: body(model), headers };
}

interface Seen {
  firstMs: number;
  largestGapMs: number;
  ok: boolean;
}

/** One call by undici's handlers, the cheapest client there is, so that the client's own cost stays small. */
function call(pool: Pool, request: Sent, done: (seen: Seen) => void): void {
  const seen: Seen = { firstMs: Number.NaN, largestGapMs: 0, ok: true };
  let lastMs = Number.NaN;
  pool.dispatch(
    {
      method: "POST",
      path: "/v1/chat/completions",
      headers: request.headers,
      body: request.body,
    },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status) => {
        if (status !== 200) seen.ok = false;
      },
      onResponseData: () => {
        const nowMs = performance.now();
        if (Number.isNaN(seen.firstMs)) seen.firstMs = nowMs;
        else seen.largestGapMs = Math.max(seen.largestGapMs, nowMs - lastMs);
        lastMs = nowMs;
      },
      onResponseEnd: () => done(seen),
      onResponseError: () => done({ ...seen, ok: false }),
    },
  );
}

/** Poisson arrivals. @param warmMs at the start is not counted. */
export async function openLoop(
  url: string,
  options: {
    model: string;
    perS: number;
    warmMs: number;
    runMs: number;
    seed: number;
    headers?: Readonly<Record<string, string>>;
  },
): Promise<OpenLoop> {
  const { model, perS, warmMs, runMs, seed } = options;
  const pool = new Pool(url, { keepAliveTimeout: 120_000, pipelining: 1 });
  const random = new Random(seed, "arrivals");
  const result: OpenLoop = { latenciesMs: [], gapsMs: [], errors: 0 };
  const payload = sent(model, options.headers);
  const startMs = performance.now();
  let errors = 0;
  const calls: Promise<void>[] = [];
  for (let atMs = 0; atMs < warmMs + runMs; atMs += random.exponential(1_000 / perS)) {
    const wantedMs = startMs + atMs;
    const waitUs = Math.round((wantedMs - performance.now()) * 1_000);
    await new Promise<void>((resolve) => {
      realClock.at(realClock.nowUs() + waitUs, resolve, { precise: true });
    });
    const counted = atMs >= warmMs;
    calls.push(
      new Promise((resolve) => {
        call(pool, payload, (seen) => {
          if (!seen.ok) errors += 1;
          else if (counted) {
            const endMs = model === "mock" ? performance.now() : seen.firstMs;
            result.latenciesMs.push(endMs - wantedMs);
            result.gapsMs.push(seen.largestGapMs);
          }
          resolve();
        });
      }),
    );
  }
  await Promise.all(calls);
  await pool.close();
  return { ...result, errors };
}

/** @returns whole answers per second, over `connections` that ask again as soon as they are answered. */
export async function closedLoop(
  url: string,
  options: {
    model: string;
    connections: number;
    warmMs: number;
    runMs: number;
    headers?: Readonly<Record<string, string>>;
  },
): Promise<{ perS: number; errors: number }> {
  const { model, connections, warmMs, runMs } = options;
  const pool = new Pool(url, { connections, keepAliveTimeout: 120_000, pipelining: 1 });
  const payload = sent(model, options.headers);
  const startMs = performance.now();
  let answers = 0;
  let errors = 0;
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve) => {
          const next = (): void => {
            const elapsedMs = performance.now() - startMs;
            if (elapsedMs > warmMs + runMs) {
              resolve();
              return;
            }
            call(pool, payload, (seen) => {
              const nowMs = performance.now() - startMs;
              if (!seen.ok) errors += 1;
              else if (nowMs > warmMs && nowMs <= warmMs + runMs) answers += 1;
              next();
            });
          };
          next();
        }),
    ),
  );
  await pool.close();
  return { perS: answers / (runMs / 1_000), errors };
}
