/** A cell of the fault matrix whose fault is not the upstream's, and the world that it plays in. */
import type { GatewayConfig, PolicyConfig } from "../../src/gateway/config/index.ts";
import { type Gateway, type GatewayLimits, startConfigured } from "../../src/gateway/index.ts";
import { simpleConfig } from "../../src/gateway/simple-config.ts";
import { ask, type CallerApi, endsInBand, isOwnError, type Told } from "./fault-caller.ts";
import { FULL_TEXT, wholeSteps } from "./fault-wire.ts";
import {
  type Hit,
  type ReplayServer,
  type Step,
  sleep,
  startReplayServer,
} from "./replay-server.ts";

export interface OwnCell {
  readonly name: string;
  readonly expected: string;
  /** From the fault to its end. */
  readonly limitMs: number;
  play(world: OwnWorld): Promise<{ readonly seen: string; readonly tookMs: number }>;
  readonly script: (hit: Hit) => readonly Step[];
  readonly options?: OwnOptions;
}

export interface OwnResult {
  readonly name: string;
  readonly expected: string;
  readonly seen: string;
  readonly tookMs: number;
  readonly limitMs: number;
  readonly left: readonly string[];
}

export interface OwnOptions {
  readonly limits?: Partial<GatewayLimits>;
  readonly policy?: Partial<PolicyConfig>;
  readonly config?: Partial<GatewayConfig>;
  /** Calls at a time; default 1, so that a place that is not given back is seen. */
  readonly places?: number;
}

export interface OwnWorld {
  readonly gateway: Gateway;
  readonly upstream: ReplayServer;
  readonly config: GatewayConfig;
}

export const FAULTY = "be faulty";

export async function playOwnCell(cell: OwnCell): Promise<OwnResult> {
  const { name, expected, limitMs, options = {} } = cell;
  const upstream = await startReplayServer((hit) => {
    const isStream = hit.body.includes('"stream":true');
    const api = hit.path === "/v1/messages" ? "anthropic" : "openai";
    return hit.body.includes(FAULTY) ? cell.script(hit) : wholeSteps(api, isStream);
  });
  const base = simpleConfig({
    upstream: upstream.url,
    preconnect: 0,
    limits: { drainUs: 100_000, ...options.limits },
    policy: options.policy ?? {},
  });
  const config: GatewayConfig = {
    ...base,
    admission: {
      lanes: [{ name: "all", tokensMax: Infinity, share: 0, tokensInFlightMax: Infinity }],
      concurrency: { kind: "fixed", limit: options.places ?? 1 },
      queueMax: 1,
      ageMaxUs: 5_000_000,
    },
    ...options.config,
  };
  const gateway = await startConfigured(config);
  try {
    const { seen, tookMs } = await cell.play({ gateway, upstream, config });
    const left = await leftBehind(gateway);
    return { name, expected, seen, tookMs, limitMs, left };
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

async function leftBehind(gateway: Gateway): Promise<string[]> {
  const busy = (): number => gateway.connections().open - gateway.connections().idle;
  await within(() => gateway.inFlight() === 0 && busy() === 0).catch(() => undefined);
  const left: string[] = [];
  if (gateway.inFlight() > 0) left.push(`${gateway.inFlight()} requests in flight`);
  if (busy() > 0) left.push(`${busy()} busy connections`);
  if (gone.has(gateway)) return left;
  const next = await ask(gateway.url, { caller: "openai", isStream: true, prompt: "be fine" });
  if (next.text !== FULL_TEXT || next.thrown !== undefined) {
    left.push(`the next call fails: ${String(next.thrown ?? next.text)}`);
  }
  return left;
}

const gone = new WeakSet<Gateway>();

/** Closes the gateway, which then owes nobody an answer. */
export function closeEarly(gateway: Gateway): Promise<void> {
  gone.add(gateway);
  return gateway.close();
}

export async function within(isTrue: () => boolean, ms = 2_000): Promise<void> {
  for (let waited = 0; waited < ms; waited += 2) {
    if (isTrue()) return;
    await sleep(2);
  }
  throw new Error(`not within ${ms} ms`);
}

/** What the caller got, in the words of the matrix. */
export function told(caller: CallerApi, { text, thrown, status, raw }: Told): string {
  if (thrown === undefined) return text === FULL_TEXT ? "whole" : `TRUNCATED ${text}`;
  if (status >= 400 && isOwnError(caller, raw)) return `status ${status}`;
  if (status < 400 && endsInBand(caller, raw)) return "in-band";
  return `${status} ${String(thrown)} ${raw.slice(-200)}`;
}

export async function timed(
  caller: CallerApi,
  asked: Promise<Told>,
): Promise<{ seen: string; tookMs: number }> {
  const sinceMs = performance.now();
  const answer = await asked;
  return { seen: told(caller, answer), tookMs: performance.now() - sinceMs };
}
