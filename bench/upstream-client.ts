/**
 * What one call to an upstream over HTTP/1.1 costs this process in CPU: the gateway's own transport beside undici's
 * `dispatch`, which it replaced, on the same kind of upstream in another process. Blocks of the two take turns, so that a
 * busy machine is busy for both.
 *
 *     npm run bench:upstream-client [-- --blocks 40 --calls 2000]
 */
import { parseArgs } from "node:util";
import { Client } from "undici";
import { realClock } from "../src/clock/index.ts";
import { US_PER_S } from "../src/core/index.ts";
import { GATEWAY_LIMITS } from "../src/gateway/limits.ts";
import type { Berth } from "../src/gateway/transport/berth.ts";
import type { UpstreamRequest } from "../src/gateway/transport/channel.ts";
import { Network } from "../src/gateway/transport/network.ts";
import { UpstreamPool } from "../src/gateway/upstream-pool.ts";
import { sampleQuantile } from "../src/stats/index.ts";
import { startMock } from "./gateway/processes.ts";

const { values } = parseArgs({
  options: {
    blocks: { type: "string", default: "40" },
    calls: { type: "string", default: "2000" },
  },
});
const blocks = Number(values.blocks);
const calls = Number(values.calls);

/** Calls once `done` when the answer is whole; anything else ends the run. */
type Call = (request: UpstreamRequest, done: () => void) => void;

const fail = (cause: unknown): never => {
  throw cause;
};

function ownCalls(origin: URL): Call {
  const network = new Network(realClock);
  const limits = { ...GATEWAY_LIMITS, connectUs: 10 * US_PER_S };
  const pool = new UpstreamPool({ origin, limits, clock: realClock, network });
  return (request, done) => {
    const berth: Berth = pool.take({ fresh: false })!;
    berth.open((error) => {
      if (error !== null) fail(error);
      berth.send(request, {
        head: () => undefined,
        bytes: () => undefined,
        end: () => {
          berth.release();
          done();
        },
        broken: (_kind, cause) => fail(cause),
      });
    });
  };
}

/** One client for each connection, as the gateway had them. */
function undiciCalls(origin: URL): Call {
  const idle: Client[] = [];
  return (request, done) => {
    const client = idle.pop() ?? new Client(origin, { headersTimeout: 0, bodyTimeout: 0 });
    client.dispatch(request, {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => {
        idle.push(client);
        done();
      },
      onResponseError: (_controller, cause) => fail(cause),
    });
  };
}

/** @returns µs of CPU for each. */
async function block(call: Call, request: UpstreamRequest, sideBySide: number): Promise<number> {
  const before = process.cpuUsage();
  let left = calls;
  await new Promise<void>((resolve) => {
    let open = sideBySide;
    const next = (): void => {
      left -= 1;
      if (left >= 0) call(request, () => queueMicrotask(next));
      else if (--open === 0) resolve();
    };
    for (let i = 0; i < sideBySide; i += 1) next();
  });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

const mock = await startMock();
const origin = new URL(mock.url);
const sides = { own: ownCalls(origin), undici: undiciCalls(origin) };
const headers = ["content-type", "application/json", "authorization", "Bearer sk-none", "x-a", "b"];
console.log(`µs of CPU per call, least and median of ${blocks} blocks of ${calls} calls each`);
for (const model of ["mock", "mock-64-0"]) {
  const content = "x".repeat(600);
  const messages = [{ role: "user", content }];
  const body = Buffer.from(JSON.stringify({ model, stream: model !== "mock", messages }));
  const request: UpstreamRequest = { method: "POST", path: "/v1/chat/completions", headers, body };
  for (const sideBySide of [1, 32, 128]) {
    const costs: Record<keyof typeof sides, number[]> = { own: [], undici: [] };
    for (const call of Object.values(sides)) await block(call, request, sideBySide);
    for (let i = 0; i < blocks; i += 1) {
      const order = i % 2 === 0 ? (["own", "undici"] as const) : (["undici", "own"] as const);
      for (const side of order) costs[side].push(await block(sides[side], request, sideBySide));
    }
    const shown = Object.entries(costs).map(([side, all]) => {
      const [least, median] = [
        Math.min(...all),
        sampleQuantile(
          all.sort((a, b) => a - b),
          0.5,
        ).value,
      ];
      return `${side} ${least.toFixed(1)} / ${median.toFixed(1)}`;
    });
    const what = model === "mock" ? "JSON" : "stream of 64 events";
    console.log(`${what}, ${sideBySide} at a time: ${shown.join(", ")}`);
  }
}
await mock.stop();
process.exit(0);
