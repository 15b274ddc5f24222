/**
 * Shared limits against a real Redis or Valkey: the scripts as they run there, what a round trip costs, and a server that
 * is killed in mid-run. Says so and ends well if no server is on the PATH.
 *
 *     npm run bench:redis            (another server: REDIS_SERVER=/path/to/valkey-server)
 *
 * The server keeps nothing on disk, listens on loopback only and is stopped at the end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { realClock } from "../../src/clock/index.ts";
import { US_PER_S } from "../../src/core/index.ts";
import type { SharedState } from "../../src/gateway/shared-state/index.ts";
import { Histogram } from "../../src/stats/index.ts";
import { hammer, openState, until } from "../../test/support/shared-limit-contract.ts";

const ROUND_TRIPS = 5_000;
const NEVER = Number.POSITIVE_INFINITY;
const problems: string[] = [];

function check(ok: boolean, what: string): void {
  console.log(`${ok ? "ok  " : "FAIL"} ${what}`);
  if (!ok) problems.push(what);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Undefined if there is no such program. */
async function startServer(program: string, port: number): Promise<ChildProcess | undefined> {
  const flags = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = spawn(program, flags, { stdio: "ignore" });
  const started = await once(child, "spawn").then(
    () => true,
    () => false,
  );
  return started ? child : undefined;
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function limitsHold(url: string): Promise<void> {
  for (const seed of [1, 2, 3]) {
    const tenant = `places-${seed}`;
    const done = await hammer({ url, tenant, seed, concurrencyMax: 3, requests: 400 });
    check(
      done.inFlightMax === 3 && done.local === 0,
      `two gateways, 3 places: at most ${done.inFlightMax} in flight, ${done.granted} granted, ` +
        `${done.denied} denied, ${done.local} on their own`,
    );
  }
  const limit = { tokensPerMinute: 600_000, burstTokens: 5_000 };
  const done = await hammer({ url, tenant: "rate", seed: 1, requests: 1_200, ...limit });
  const allowed = 5_000 + (done.spanUs / US_PER_S) * 10_000 + 150;
  check(
    done.tokens <= allowed && done.tokens >= 5_000 && done.local === 0,
    `two gateways, 10,000 tokens/s: ${done.tokens} taken of ${Math.floor(allowed)} allowed`,
  );
}

async function roundTrips(url: string): Promise<void> {
  const state = await openState(url, "timer");
  const limit = { concurrencyMax: 1_000, tokensPerMinute: 1e9, burstTokens: 1e9 };
  const times = new Histogram();
  for (let i = 0; i < ROUND_TRIPS; i += 1) {
    const startUs = realClock.nowUs();
    const grant = await state.limits.acquire({ tenant: "timer", limit, tokens: 100 });
    times.record(realClock.nowUs() - startUs);
    if (grant.kind === "granted") state.limits.release(grant.lease, 80);
  }
  const at = (q: number): number => times.atRank(Math.ceil(q * times.n));
  console.log(`     acquire: p50 ${at(0.5)} µs, p99 ${at(0.99)} µs, n ${times.n}, one at a time`);
  await state.close();
}

async function breakersAndLeases(url: string): Promise<void> {
  const [a, b] = [await openState(url, "a"), await openState(url, "b")];
  a.breakers.opened("target", 60 * US_PER_S);
  await realClock.sleepUntil(realClock.nowUs() + 50_000);
  const leftUs = (await b.breakers.read(["other", "target"]))?.get("target") ?? 0;
  check(leftUs > 50 * US_PER_S, "a breaker opened by one gateway is open for the other");
  const claim = {
    tenant: "back",
    limit: { concurrencyMax: NEVER, tokensPerMinute: 60_000, burstTokens: 500 },
    tokens: 5_000,
  };
  const grant = await a.limits.acquire(claim);
  const refused = await b.limits.acquire(claim);
  const waitUs = refused.kind === "denied" ? refused.retryAfterUs : 0;
  check(Math.abs(waitUs - 4.5 * US_PER_S) < 0.2 * US_PER_S, `a debt is told: ${waitUs} µs`);
  if (grant.kind === "granted") a.limits.release(grant.lease, 100);
  await realClock.sleepUntil(realClock.nowUs() + 50_000);
  check((await b.limits.acquire(claim)).kind === "granted", "what was not used is given back");
  await a.close();
  await b.close();
}

async function survives(
  url: string,
  port: number,
  program: string,
  first: ChildProcess,
): Promise<ChildProcess> {
  const state: SharedState = await openState(url, "survivor", 20_000);
  const limit = { concurrencyMax: 4, tokensPerMinute: NEVER, burstTokens: 0 };
  const claim = { tenant: "s", limit, tokens: 1 };
  await state.limits.acquire(claim);
  await stopServer(first);
  let slowestUs = 0;
  for (let i = 0; i < 200; i += 1) {
    const startUs = realClock.nowUs();
    const grant = await state.limits.acquire(claim);
    slowestUs = Math.max(slowestUs, realClock.nowUs() - startUs);
    if (grant.kind === "granted") state.limits.release(grant.lease, 1);
  }
  const { local } = state.facts.limits.granted;
  check(local > 150, `killed: ${local} of 200 granted on its own, slowest ${slowestUs} µs`);
  await until(() => !state.facts.store.isConnected);
  const second = (await startServer(program, port))!;
  await until(() => state.facts.store.isConnected);
  const grant = await state.limits.acquire(claim);
  const { lastError } = state.facts.store;
  const how = grant.kind === "granted" ? `granted, shared: ${grant.lease.isShared}` : grant.reason;
  check(
    grant.kind === "granted" && grant.lease.isShared,
    `back: the common limit holds again (${how}; last error: ${lastError})`,
  );
  await state.close();
  return second;
}

const programs = process.env.REDIS_SERVER?.split(",") ?? ["redis-server", "valkey-server"];
const port = await freePort();
let server: ChildProcess | undefined;
let program = "";
for (const one of programs) {
  server ??= await startServer(one, port);
  if (server !== undefined && program === "") program = one;
}
if (server === undefined) {
  console.log(`no ${programs.join(" and no ")} on the PATH: nothing was tried`);
} else {
  try {
    const url = `redis://127.0.0.1:${port}`;
    await limitsHold(url);
    await breakersAndLeases(url);
    await roundTrips(url);
    server = await survives(url, port, program, server);
  } finally {
    await stopServer(server);
  }
  if (problems.length > 0) process.exitCode = 1;
}
