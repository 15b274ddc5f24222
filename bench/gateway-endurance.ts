/**
 * What the gateway costs and keeps: memory with a thousand open streams, CPU for each event that it passes on, memory over
 * two hundred thousand requests, and how soon an upstream learns that a client has left.
 *
 *     npm run bench:gateway-endurance [-- --streams 1000] [-- --requests 200000] [-- --leavers 300]
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { sampleQuantile } from "../src/stats/index.ts";
import { closedLoop } from "./gateway/client.ts";
import { build, type Process, startGatewayProcess, startMock } from "./gateway/processes.ts";

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    requests: { type: "string", default: "200000" },
    leavers: { type: "string", default: "300" },
  },
});
// Without lanes, whose limit would rightly keep most of a thousand streams waiting.
const armed = ["--hedge", "--deadline", "300s", "--connections", "4096"];

function residentMb({ pid }: Process): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024;
}

/** User and system time so far. */
function cpuMs({ pid }: Process): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  // In ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const BODY = JSON.stringify({ model: "mock-600-100", stream: true, messages: [] });
const HEADERS = { "content-type": "application/json" };

async function openStreams(count: number): Promise<string> {
  const mock = await startMock();
  const gateway = await startGatewayProcess(mock.url, armed);
  const idleMb = residentMb(gateway);
  const pool = new Pool(gateway.url, { connections: count, pipelining: 1, bodyTimeout: 0 });
  let events = 0;
  let failed = 0;
  let isOver = false;
  for (let i = 0; i < count; i += 1) {
    pool.dispatch(
      { method: "POST", path: "/v1/chat/completions", headers: HEADERS, body: BODY },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status) => {
          if (status !== 200) failed += 1;
        },
        onResponseData: (_controller, chunk) => {
          events += chunk.toString("latin1").split("data: ").length - 1;
        },
        onResponseEnd: () => undefined,
        onResponseError: () => {
          if (!isOver) failed += 1;
        },
      },
    );
    if (i % 50 === 49) await sleep(50);
  }
  await sleep(5_000);
  const [beforeMs, before] = [cpuMs(gateway), events];
  await sleep(15_000);
  const usedMs = cpuMs(gateway) - beforeMs;
  const passed = events - before;
  const openMb = residentMb(gateway);
  isOver = true;
  await pool.destroy();
  await gateway.stop();
  await mock.stop();
  return (
    `${count} open streams (${failed} failed): ${openMb.toFixed(0)} MB resident, ${idleMb.toFixed(0)} MB idle (limit 200); ` +
    `${((1_000 * usedMs) / passed).toFixed(1)} µs of CPU for each of ${passed} paced events (limit 40)`
  );
}

async function manyRequests(count: number): Promise<string> {
  const mock = await startMock();
  const gateway = await startGatewayProcess(mock.url, armed);
  const resident: number[] = [];
  let done = 0;
  let errors = 0;
  while (done < count) {
    const run = await closedLoop(gateway.url, {
      model: done % 2 === 0 ? "mock" : "mock-64-0",
      connections: 32,
      warmMs: 0,
      runMs: 3_000,
    });
    done += Math.max(1, Math.round(run.perS * 3));
    errors += run.errors;
    resident.push(residentMb(gateway));
    process.stderr.write(`\r${done} of ${count} requests, ${resident.at(-1)!.toFixed(0)} MB `);
  }
  process.stderr.write("\n");
  await gateway.stop();
  await mock.stop();
  const third = Math.max(1, Math.floor(resident.length / 3));
  const mean = (of: readonly number[]): number => of.reduce((sum, mb) => sum + mb, 0) / of.length;
  const early = mean(resident.slice(third, 2 * third));
  const late = mean(resident.slice(-third));
  return (
    `${done} requests (${errors} errors): ${early.toFixed(0)} MB in the second third, ${late.toFixed(0)} MB in the last ` +
    `(${(100 * (late / early - 1)).toFixed(1)} %, goal ±5 %), most ${Math.max(...resident).toFixed(0)} MB`
  );
}

/** An upstream that streams for ever, and says when each connection closes. */
async function leavers(count: number): Promise<string> {
  const closedMs = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers["x-leaver"]);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x" } }] })}\n\n`;
    const timer = setInterval(() => response.write(frame), 20);
    response.once("close", () => {
      clearInterval(timer);
      closedMs.set(id, performance.now());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const gateway = await startGatewayProcess(`http://127.0.0.1:${port}`, armed);
  const leftMs = new Map<string, number>();
  for (let i = 0; i < count; i += 1) {
    const id = String(i);
    const call = httpRequest(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...HEADERS, "x-leaver": id },
    });
    call.on("error", () => undefined);
    call.end(BODY);
    // Half of them before the first token, half in mid-stream.
    await sleep(i % 2 === 0 ? 5 : 60);
    leftMs.set(id, performance.now());
    call.destroy();
    await sleep(10);
  }
  await sleep(1_000);
  const tookMs = [...leftMs].flatMap(([id, left]) => {
    const closed = closedMs.get(id);
    return closed === undefined ? [] : [closed - left];
  });
  tookMs.sort((a, b) => a - b);
  await gateway.stop();
  server.closeAllConnections();
  server.close();
  const [p50, p99] = [sampleQuantile(tookMs, 0.5), sampleQuantile(tookMs, 0.99)];
  return (
    `${count} clients left: the upstream knew after p50 ${p50.value.toFixed(1)}, p99 ${p99.value.toFixed(1)} ms ` +
    `(n ${tookMs.length}, limit 50; the others had not reached it)`
  );
}

await build();
console.log(await openStreams(Number(values.streams)));
console.log(await leavers(Number(values.leavers)));
console.log(await manyRequests(Number(values.requests)));
