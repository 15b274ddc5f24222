/** Two gateways over a real Redis or Valkey, where there is one on the PATH: what the stand-in of the other tests cannot show. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { US_PER_S } from "../../src/core/index.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

const SERVER = ["redis-server", "valkey-server"].find(
  (program) => spawnSync(program, ["--version"]).status === 0,
);
const BODY = '{"model":"m","max_tokens":10,"messages":[]}';
const ok = json(200, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 5 } });
const CONNECTED = "manx_gateway_shared_connected";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Keeps nothing on disk, listens on loopback alone, and goes with the test. */
async function startRedis(port: number): Promise<ChildProcess> {
  const flags = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = spawn(SERVER!, flags, { stdio: "ignore" });
  await once(child, "spawn");
  onTestFinished(() => stopRedis(child));
  return child;
}

async function stopRedis(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

describe.skipIf(SERVER === undefined)("two gateways over a real server", () => {
  it("hold a tenant's limit together, go on alone when it is killed, and together when it is back", async () => {
    const port = await freePort();
    const first = await startRedis(port);
    let [open, most] = [0, 0];
    const upstream = await startReplayServer(() => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => (open -= 1), 25);
      return [{ afterMs: 30, bytes: ok }];
    });
    onTestFinished(() => upstream.close());
    const section = {
      upstreams: [{ name: "up", url: upstream.url, format: "any" }],
      state: `redis://127.0.0.1:${port}`,
      admission: { tenant: { concurrency: 2 } },
    };
    const more = { onNotice: () => undefined, stateDeadlineUs: 5 * US_PER_S };
    const made = await Promise.all([1, 2].map(() => configuredGateway(section, {}, more)));
    const gateways = made.map(({ gateway }) => gateway);
    const areConnected = async (count: number): Promise<boolean> => {
      const seen = await Promise.all(gateways.map((gateway) => metric(gateway, CONNECTED)));
      return seen.filter((one) => one === 1).length === count;
    };
    /** For a failure: who has granted what. */
    const seen = async (): Promise<string> => {
      const page = async ({ url }: { url: string }): Promise<string> =>
        (await fetch(`${url}/metrics`)).text();
      const lines = (await Promise.all(gateways.map(page))).flatMap((text) => text.split("\n"));
      return lines.filter((line) => /^manx_gateway_(shared|retries|hedges)/.test(line)).join("\n");
    };
    const ask = async (each: number): Promise<number[]> => {
      const urls = gateways.flatMap(({ url }) => Array<string>(each).fill(url));
      const all = urls.map((url) => answer(`${url}/v1/chat/completions`, { body: BODY }));
      return (await Promise.all(all)).map(({ status }) => status);
    };
    await until(() => areConnected(2));
    expect(new Set(await ask(10))).toEqual(new Set([200]));
    expect(most, await seen()).toBe(2);
    await stopRedis(first);
    await until(() => areConnected(0));
    expect(new Set(await ask(4))).toEqual(new Set([200]));
    await startRedis(port);
    await until(() => areConnected(2));
    most = 0;
    expect(new Set(await ask(10))).toEqual(new Set([200]));
    expect(most).toBeLessThanOrEqual(2);
  });
});
