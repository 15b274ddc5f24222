/** A gateway in front of a scripted upstream; both are closed when the test ends. */
import { onTestFinished } from "vitest";
import { type Gateway, type GatewayOptions, startGateway } from "../../src/gateway/index.ts";
import { CALL_POLICY } from "../../src/policy/index.ts";
import {
  type Hit,
  type ReplayServer,
  type Step,
  sleep,
  startReplayServer,
} from "./replay-server.ts";

export interface LiveGateway {
  readonly upstream: ReplayServer;
  readonly gateway: Gateway;
  readonly chatUrl: string;
  readonly messagesUrl: string;
}

/** @param onFinished of the test's own context; needed in concurrent tests only. */
export async function liveGateway(
  script: (hit: Hit) => readonly Step[],
  options: Partial<GatewayOptions> = {},
  onFinished: (close: () => Promise<void>) => void = onTestFinished,
): Promise<LiveGateway> {
  const upstream = await startReplayServer(script);
  const gateway = await startGateway({
    upstream: upstream.url,
    // One attempt, so that a test sees what becomes of it; those about retries say so.
    policy: { retry: { ...CALL_POLICY.retry, attemptsMax: 1 } },
    ...options,
    // Nothing that a test leaves open may hold it up.
    limits: { drainUs: 100_000, ...options.limits },
  });
  onFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  return {
    upstream,
    gateway,
    chatUrl: `${gateway.url}/v1/chat/completions`,
    messagesUrl: `${gateway.url}/v1/messages`,
  };
}

/** Polls, since some ends are seen on two sides of a socket. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 5) {
    if (await condition()) return;
    await sleep(5);
  }
  throw new Error("did not come true within 5 s");
}

/** @param series such as `manx_gateway_in_flight` or with labels. @returns the sum of all that have these; 0 of none. */
export async function metric(gateway: Gateway, series: string): Promise<number> {
  const [name = "", labels = ""] = series.replace(/\}$/, "").split(/\{(.*)/);
  const wanted = labels === "" ? [] : labels.split(/,(?=\w+=")/);
  const lines = (await gateway.metricsText()).split("\n");
  const values = lines.flatMap((line) => {
    if (!line.startsWith(`${name} `) && !line.startsWith(`${name}{`)) return [];
    const isWanted = wanted.every(
      (label) => line.includes(`{${label}`) || line.includes(`,${label}`),
    );
    return isWanted ? [Number(line.slice(line.lastIndexOf(" ") + 1))] : [];
  });
  return values.reduce((sum, value) => sum + value, 0);
}

export function requests(
  gateway: Gateway,
  labels: { route?: string; status: number; outcome: string },
): Promise<number> {
  const { route = "chat/completions", status, outcome } = labels;
  return metric(
    gateway,
    `manx_gateway_requests_total{route="${route}",status="${status}",outcome="${outcome}"}`,
  );
}
