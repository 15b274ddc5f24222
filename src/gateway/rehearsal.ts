/**
 * Calls that a gateway makes to itself before it listens, so that the first real ones find code that is compiled: at a hundred
 * requests a second it would otherwise take minutes until each path has run often enough, and until then a request pays
 * for it.
 *
 * They run through a gateway of their own with the same rules, to an upstream of their own on loopback: nothing of them is
 * counted, logged, or seen by a real upstream. Whatever goes wrong in here keeps no gateway from its start.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { devNull } from "node:os";
import { Pool } from "undici";
import type { Clock } from "../clock/index.ts";
import { US_PER_S } from "../core/index.ts";
import { close, listen } from "../http/index.ts";
import type { GatewayConfig } from "./config/index.ts";
import type { Gateway } from "./gateway-contract.ts";
import { simpleConfig } from "./simple-config.ts";

export interface Rehearsal {
  readonly calls: number;
  readonly failed: number;
  readonly tookUs: number;
}

/** A slow machine starts all the same. */
const TIME_US = 2 * US_PER_S;
const SIDE_BY_SIDE = 8;
/** One call in so many is a stream. */
const STREAM_EVERY = 4;
const EVENTS = 24;
const PROMPT = "Is what is compiled early compiled well? ".repeat(40);

/**
 * @param calls most that are made.
 * @param start starts the gateway for it, on a port that no other worker process shares: among workers each one's calls
 *   would be dealt out to the others, and those of real clients to a gateway that is only for show.
 */
export async function rehearse(
  config: GatewayConfig,
  { calls, clock, start }: { calls: number; clock: Clock; start: Start },
): Promise<Rehearsal> {
  const startUs = clock.nowUs();
  const server = createServer(answer);
  const counts = { calls: 0, failed: 0 };
  const limit = clock.deadline(startUs + TIME_US);
  let gateway: Gateway | undefined;
  let pool: Pool | undefined;
  try {
    const upstream = await listen(server, { port: 0, isAlone: true });
    gateway = await start(stagedConfig(config, upstream));
    pool = new Pool(gateway.url, { connections: SIDE_BY_SIDE });
    await play(pool, calls, { counts, signal: limit.signal });
  } catch {
    counts.failed += 1;
  }
  limit.cancel();
  await pool?.destroy();
  gateway?.cut();
  await gateway?.close();
  await closeStage(server);
  return { ...counts, tookUs: clock.nowUs() - startUs };
}

type Start = (config: GatewayConfig) => Promise<Gateway>;

/**
 * The rules of the real one, without what reaches anybody: keys, logs, traces, shared state, checks; and without what tenants
 * may spend, for which these calls would wait.
 */
function stagedConfig(config: GatewayConfig, upstream: string): GatewayConfig {
  const staged = simpleConfig({ upstream, preconnect: SIDE_BY_SIDE });
  const policy = config.policies[config.models[0]?.policy ?? "default"] ?? config.policies.default!;
  return {
    ...staged,
    policies: { default: policy },
    admission: config.admission && { ...config.admission, tenant: {}, tenants: {} },
    log: { ...config.log, access: config.log.access === "off" ? "off" : { path: devNull } },
    limits: { ...config.limits, graceUs: 0, drainUs: 0 },
  };
}

async function play(
  pool: Pool,
  calls: number,
  { counts, signal }: { counts: { calls: number; failed: number }; signal: AbortSignal },
): Promise<void> {
  const voice = async (): Promise<void> => {
    while (counts.calls < calls && !signal.aborted) {
      counts.calls += 1;
      const body = requestBody(counts.calls % STREAM_EVERY === 0);
      const response = await pool.request({
        method: "POST",
        path: "/v1/chat/completions",
        headers: { "content-type": "application/json" },
        body,
        signal,
      });
      await response.body.dump();
      if (response.statusCode !== 200) counts.failed += 1;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, voice));
}

function requestBody(stream: boolean): string {
  const messages = [{ role: "user", content: PROMPT }];
  return JSON.stringify({ model: "rehearsal", stream, messages });
}

const WHOLE = JSON.stringify({
  id: "chatcmpl-rehearsal",
  object: "chat.completion",
  model: "rehearsal",
  choices: [{ index: 0, message: { role: "assistant", content: "It is." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 400, completion_tokens: 3, total_tokens: 403 },
});

function event(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "chatcmpl-rehearsal", model: "rehearsal", choices })}\n\n`;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  let asked = "";
  request.setEncoding("utf8");
  request.on("data", (part: string) => {
    asked += part;
  });
  request.on("end", () => {
    if (!asked.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" }).end(WHOLE);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    void stream(response);
  });
}

/** Each event in a turn of its own, as they come from a model. */
async function stream(response: ServerResponse): Promise<void> {
  response.write(event({ role: "assistant", content: "" }, null));
  for (let i = 0; i < EVENTS; i += 1) {
    await new Promise<void>((resolve) =>
      response.write(event({ content: " so" }, null), () => resolve()),
    );
  }
  response.end(`${event({}, "stop")}data: [DONE]\n\n`);
}

function closeStage(server: Server): Promise<void> {
  return close(server, { cutOpen: true });
}
