/** A live twin for tests, cheap to run, and what tests ask of it. */
import OpenAI from "openai";
import { expect } from "vitest";
import { realClock } from "../../src/clock/index.ts";
import { type CostModel, ENGINE_DEFAULTS, type EngineConfig } from "../../src/engine/index.ts";
import {
  type EngineServer,
  type EngineServerOptions,
  startEngineServer,
} from "../../src/engine-server/index.ts";

/** A step of 2 ms and 10 µs a token: cheap enough for a test, long enough for a host timer. */
const cheap: CostModel = { name: "cheap", stepUs: (batch) => 2_000 + 10 * batch.tokens };

const servers: EngineServer[] = [];

export async function startTwin(
  config: Partial<EngineConfig> = {},
  options: Partial<EngineServerOptions> = {},
): Promise<EngineServer> {
  const server = await startEngineServer({
    config: { ...ENGINE_DEFAULTS, ...config },
    clock: realClock,
    port: 0,
    cost: cheap,
    checked: true,
    ...options,
  });
  servers.push(server);
  return server;
}

/** For `afterEach`. */
export async function stopTwins(): Promise<void> {
  await Promise.all(servers.splice(0).map((server) => server.close()));
}

export function clientOf(server: EngineServer): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
}

/** Five tokens. */
export const hello = [{ role: "user" as const, content: "say hello to the twin" }];

export interface Refusal {
  readonly error: { message: string; code: string; manx_code: string; param: string | null };
}

export async function post(server: EngineServer, body: unknown): Promise<Response> {
  return await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** The value of the one sample of a metric whose line starts with this. */
export async function metric(server: EngineServer, start: string): Promise<number> {
  const lines = (await server.metricsText()).split("\n").filter((line) => line.startsWith(start));
  expect(lines, start).toHaveLength(1);
  return Number(lines[0]!.slice(lines[0]!.lastIndexOf(" ")));
}

export async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    if (isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`waited in vain for: ${what}`);
}
