/**
 * What a connection costs in round trips, and which of them are saved: time to the first byte of an answer over a link with
 * a delay, from the gateway's own pool, for a connection that is new, resumed, opened ahead, kept, or shared (HTTP/2).
 *
 *     npm run bench:connections [-- --rtt 30 --n 40]
 *
 * The link is a proxy in user space. Where the kernel can delay (`sch_netem`), it can be a real one instead:
 *
 *     sudo unshare -n sh -c 'ip link set lo up && tc qdisc add dev lo root netem delay 15ms && npm run bench:connections -- --kernel'
 */

import { createServer } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { realClock } from "../src/clock/index.ts";
import { Attempt } from "../src/gateway/attempt.ts";
import { GATEWAY_LIMITS } from "../src/gateway/limits.ts";
import { Network } from "../src/gateway/transport/network.ts";
import { UpstreamPool } from "../src/gateway/upstream-pool.ts";
import { CALL_POLICY } from "../src/policy/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";
import { makeCertificate } from "../test/support/fault-certificate.ts";
import { startDelayedLink } from "./connections/delayed-link.ts";

const { values } = parseArgs({
  options: {
    rtt: { type: "string", default: "30" },
    n: { type: "string", default: "40" },
    kernel: { type: "boolean", default: false },
  },
});
const rttMs = Number(values.rtt);
const n = Number(values.n);
/** Requests at a time where many come at once. */
const BURST = 20;

const { cert, key } = makeCertificate();

interface Way {
  readonly origin: URL;
  readonly http2: "auto" | "never";
}

const closers: (() => void)[] = [];

async function wayTo(server: Http2SecureServer | ReturnType<typeof createServer>, scheme: string) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const link = values.kernel
    ? { port, close: () => undefined }
    : await startDelayedLink(port, rttMs);
  closers.push(() => {
    link.close();
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
  return new URL(`${scheme}://127.0.0.1:${link.port}`);
}

function secure(maxVersion: "TLSv1.2" | "TLSv1.3") {
  return createSecureServer({ cert, key, allowHTTP1: true, maxVersion }, (request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
}

function poolOf({ origin, http2 }: Way, network: Network): UpstreamPool {
  const limits = { ...GATEWAY_LIMITS, connectUs: CALL_POLICY.timeouts.connectUs };
  return new UpstreamPool({ origin, limits, clock: realClock, network, tls: { ca: cert }, http2 });
}

/** @returns ms to the head of the answer, once the answer is whole. */
function ask(pool: UpstreamPool): Promise<number> {
  const startUs = realClock.nowUs();
  return new Promise((resolve, reject) => {
    let headUs = 0;
    const request = { method: "POST", path: "/", headers: [], body: Buffer.from("{}") } as const;
    new Attempt(
      { pool, clock: realClock },
      { ...request, headers: [] },
      {
        onSent: () => undefined,
        onHead: (_status, _headers, nowUs) => {
          headUs = nowUs;
        },
        onData: () => undefined,
        onEnd: () => resolve((headUs - startUs) / 1_000),
        onFault: ({ error }) => reject(error),
      },
    ).start({ fresh: false });
  });
}

function burst(pool: UpstreamPool): Promise<number[]> {
  return Promise.all(Array.from({ length: BURST }, () => ask(pool)));
}

/** One sample or more from a pool of its own, so that nothing is left over from the one before. */
async function fromPool(
  way: Way,
  network: Network,
  measure: (pool: UpstreamPool) => Promise<number[]>,
): Promise<number[]> {
  const pool = poolOf(way, network);
  try {
    return await measure(pool);
  } finally {
    pool.close();
  }
}

async function repeat(times: number, sample: () => Promise<number[]>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i += 1) all.push(...(await sample()));
  return all;
}

/** A network that has a session of the origin. */
async function knowing(way: Way): Promise<Network> {
  const network = new Network(realClock);
  await fromPool(way, network, async (pool) => [await ask(pool)]);
  return network;
}

const one = async (pool: UpstreamPool): Promise<number[]> => [await ask(pool)];
const ahead =
  (count: number, then: (pool: UpstreamPool) => Promise<number[]>) =>
  async (pool: UpstreamPool): Promise<number[]> => {
    const error = await pool.warm(count);
    if (error !== null) throw error;
    return then(pool);
  };
const kept = async (pool: UpstreamPool): Promise<number[]> => {
  await ask(pool);
  return one(pool);
};

async function report(name: string, samples: Promise<number[]>): Promise<void> {
  const sorted = (await samples).sort((a, b) => a - b);
  const p50 = sampleQuantile(sorted, 0.5).value;
  const p90 = sampleQuantile(sorted, 0.9).value;
  const cells = [
    name.padEnd(58),
    `${p50.toFixed(1)} ms`.padStart(10),
    `${p90.toFixed(1)} ms`.padStart(10),
    `${(p50 / rttMs).toFixed(2)} RTT`.padStart(10),
    `n ${sorted.length}`.padStart(7),
  ];
  process.stdout.write(`${cells.join("")}\n`);
}

const tls13 = await wayTo(secure("TLSv1.3"), "https");
const tls12 = await wayTo(secure("TLSv1.2"), "https");
const plain = await wayTo(
  createServer((request, response) => {
    request.resume();
    response.end("{}");
  }),
  "http",
);
const h1: Way = { origin: tls13, http2: "never" };
const h2: Way = { origin: tls13, http2: "auto" };
const old: Way = { origin: tls12, http2: "never" };
const clear: Way = { origin: plain, http2: "never" };
const cold = (): Network => new Network(realClock);

process.stdout.write(`link: ${values.kernel ? "the kernel's" : "user space"}, RTT ${rttMs} ms\n`);
process.stdout.write(
  `${"time to first byte".padEnd(58)}${"p50".padStart(10)}${"p90".padStart(10)}\n`,
);
try {
  // Code that has run before is faster; the first handshakes are nobody's sample.
  await repeat(5, () => fromPool(h2, cold(), one));
  await repeat(5, () => fromPool(h1, cold(), one));
  await report(
    "new, plain HTTP",
    repeat(n, () => fromPool(clear, cold(), one)),
  );
  await report(
    "new, TLS 1.2",
    repeat(n, () => fromPool(old, cold(), one)),
  );
  const oldNetwork = await knowing(old);
  await report(
    "new, TLS 1.2, session resumed",
    repeat(n, () => fromPool(old, oldNetwork, one)),
  );
  await report(
    "new, TLS 1.3",
    repeat(n, () => fromPool(h1, cold(), one)),
  );
  const network = await knowing(h1);
  await report(
    "new, TLS 1.3, session resumed",
    repeat(n, () => fromPool(h1, network, one)),
  );
  await report(
    "opened ahead, first request",
    repeat(n, () => fromPool(h1, cold(), ahead(1, one))),
  );
  await report(
    "kept, second request",
    repeat(n, () => fromPool(h1, cold(), kept)),
  );
  const bursts = Math.ceil(n / 8);
  await report(
    `${BURST} at once, cold, HTTP/1.1: ${BURST} connections`,
    repeat(bursts, () => fromPool(h1, cold(), burst)),
  );
  await report(
    `${BURST} at once, cold, HTTP/2: one connection`,
    repeat(bursts, () => fromPool(h2, cold(), burst)),
  );
  await report(
    `${BURST} at once, 4 opened ahead, HTTP/1.1: 16 more`,
    repeat(bursts, () => fromPool(h1, cold(), ahead(4, burst))),
  );
  await report(
    `${BURST} at once, 1 opened ahead, HTTP/2`,
    repeat(bursts, () => fromPool(h2, cold(), ahead(1, burst))),
  );
} finally {
  for (const close of closers) close();
}
