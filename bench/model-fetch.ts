/**
 * What `modelFetch` costs, and what it gives.
 *
 * - Cost: the same streams from a server on the loop-back interface, by `modelFetch` and by the host's own `fetch`, in turns in one
 *   run: CPU of this process a call, and the time to the first content. The server runs in a process of its own.
 * - Own CPU: the same without sockets, over a `fetch` in memory that costs next to nothing.
 * - Hedging: the golden tail of `bench:hedging` in simulated time, through `fetch` and web streams instead of the bare policy.
 * - Retries: the golden scenario of three tries of 10 s, beside `modelFetch` on the same calls.
 *
 *     npm run bench:model-fetch [-- --calls 2000] [-- --rounds 5] [-- --seeds 3]
 */
import { type ChildProcess, fork } from "node:child_process";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { Random, SimClock } from "../src/clock/index.ts";
import { modelFetch } from "../src/runtime/index.ts";
import { retryTailLines, retryTails } from "../src/scenario/index.ts";
import { simulatedProvider } from "../src/scenario/simulated-provider.ts";
import { sampleQuantile } from "../src/stats/index.ts";
import { CHAT_DONE, encodeChatChunk } from "../src/stream/index.ts";

const TOKENS = 50;
const PARALLEL = 4;
const MS = 1_000;
const BODY = JSON.stringify({
  model: "m",
  stream: true,
  messages: [{ role: "user", content: "x".repeat(4_000) }],
});

/** As the server process: each answer is 50 chunks, each a write of its own. */
function serve(): void {
  const head = { id: "c", model: "m", createdS: 0 };
  const text = encodeChatChunk(head, { type: "text-delta", choice: 0, text: "word " });
  const finish = { type: "finish", choice: 0, reason: "stop", rawReason: "stop" } as const;
  const end = encodeChatChunk(head, finish) + CHAT_DONE;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let left = TOKENS;
      const write = (): void => {
        if (left === 0) response.end(end);
        else {
          left -= 1;
          response.write(text);
          setImmediate(write);
        }
      };
      write();
    });
  });
  server.listen(0, "127.0.0.1", () => {
    process.send?.((server.address() as { port: number }).port);
  });
}

interface Cost {
  readonly cpuUs: number;
  readonly ttftUs: readonly number[];
}

async function cost(
  send: typeof fetch,
  url: string,
  { calls, parallel }: { readonly calls: number; readonly parallel: number },
): Promise<Cost> {
  const ttftUs: number[] = [];
  let left = calls;
  const before = process.cpuUsage();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const beganMs = performance.now();
      const response = await send(url, { method: "POST", body: BODY });
      let isFirst = true;
      for await (const _ of response.body!) {
        if (isFirst) ttftUs.push((performance.now() - beganMs) * MS);
        isFirst = false;
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / calls, ttftUs };
}

async function measureCost(calls: number, rounds: number): Promise<string[]> {
  const child: ChildProcess = fork(process.argv[1]!, ["--serve"], { execArgv: process.execArgv });
  try {
    const port = await new Promise<number>((resolve) => child.once("message", resolve));
    const url = `http://127.0.0.1:${port}/v1/chat/completions`;
    const hands: [string, typeof fetch][] = [
      ["fetch", globalThis.fetch],
      ["modelFetch", modelFetch() as typeof fetch],
      ["modelFetch, hedge", modelFetch({ policy: { hedge: true } }) as typeof fetch],
    ];
    const busy: Cost[][] = hands.map(() => []);
    const alone: Cost[][] = hands.map(() => []);
    for (let round = -1; round < rounds; round += 1) {
      // In another order each time: what comes first warms the machine for the others.
      for (let turn = 0; turn < hands.length; turn += 1) {
        const at = (turn + round + 1) % hands.length;
        const [, send] = hands[at]!;
        const made = await cost(send, url, { calls, parallel: PARALLEL });
        const one = await cost(send, url, { calls: calls / 4, parallel: 1 });
        if (round < 0) continue;
        busy[at]!.push(made);
        alone[at]!.push(one);
      }
    }
    return hands.map(([name], at) => {
      const cpu = busy[at]!.map(({ cpuUs }) => cpuUs);
      const own = cpu.map((us, round) => us - busy[0]![round]!.cpuUs);
      const ttft = alone[at]!.flatMap(({ ttftUs }) => ttftUs).sort((a, b) => a - b);
      const [p50, p99] = [0.5, 0.99].map((q) => sampleQuantile(ttft, q).value.toFixed(0));
      return (
        `${name.padEnd(18)} CPU a call ${range(cpu)} µs, own ${range(own)} µs; ` +
        `one at a time: first content p50 ${p50}, p99 ${p99} µs (n ${ttft.length})`
      );
    });
  } finally {
    child.kill();
  }
}

/** An answer of so many chunks from memory, over and over. */
async function measureOwn(calls: number): Promise<string> {
  const encoder = new TextEncoder();
  const head = { id: "c", model: "m", createdS: 0 };
  const finish = { type: "finish", choice: 0, reason: "stop", rawReason: "stop" } as const;
  const text = encoder.encode(
    encodeChatChunk(head, { type: "text-delta", choice: 0, text: "word " }),
  );
  const end = encoder.encode(encodeChatChunk(head, finish) + CHAT_DONE);
  const url = "http://memory/v1/chat/completions";
  const own: string[] = [];
  for (const chunks of [1, TOKENS]) {
    const bare = (async () => {
      let left = chunks;
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            left -= 1;
            controller.enqueue(left >= 0 ? text : end);
            if (left < 0) controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }) as typeof fetch;
    const made = modelFetch({ fetch: bare }) as typeof fetch;
    const took: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const without = await cost(bare, url, { calls, parallel: 1 });
      const { cpuUs } = await cost(made, url, { calls, parallel: 1 });
      if (round > 0) took.push(cpuUs - without.cpuUs);
    }
    own.push(`${range(took)} µs for ${chunks === 1 ? "one chunk" : `${chunks} chunks`}`);
  }
  return `own CPU of a call over a fetch in memory: ${own.join(", ")}`;
}

/** 2 % of calls ten times as slow by chance, as in `bench:hedging`: median 400 ms, 20 calls a second, two targets. */
async function golden(seed: number, hedge: boolean, calls: number) {
  const clock = new SimClock();
  const dice = new Random(seed, "upstream");
  const provider = simulatedProvider(clock, () => {
    const chance = dice.next() < 0.02 ? 10 : 1;
    return Math.round(400 * 1.25 * Math.exp(0.35 * dice.normal()) * chance * MS);
  });
  const targets = ["a", "b"].map((name) => {
    return { name, baseURL: `https://${name}.example/v1`, order: 0 };
  });
  const run = modelFetch({
    ...{ clock, targets, fetch: provider.fetch, random: new Random(seed, "calls") },
    policy: { hedge, breaker: false },
  });
  const ttftMs: number[] = [];
  let atUs = 0;
  for (let i = 0; i < calls; i += 1) {
    atUs += Math.round(dice.exponential(50) * MS);
    clock.at(atUs, () => {
      const beganUs = clock.nowUs();
      void run("https://a.example/v1/chat/completions", { method: "POST", body: BODY }).then(
        async (response) => {
          ttftMs.push((clock.nowUs() - beganUs) / MS);
          await response.text();
        },
      );
    });
  }
  await clock.run();
  ttftMs.sort((a, b) => a - b);
  const { hedges, tokens } = run.stats();
  return {
    p99Ms: sampleQuantile(ttftMs, 0.99).value,
    more: provider.asked / calls - 1,
    begun: hedges.begun,
    won: hedges.won,
    wasted: tokens.wasted / tokens.asked,
  };
}

async function measureHedging(calls: number, seeds: number): Promise<string[]> {
  const all = Array.from({ length: seeds }, (_, i) => i + 1);
  const plain: Awaited<ReturnType<typeof golden>>[] = [];
  const hedged: Awaited<ReturnType<typeof golden>>[] = [];
  for (const seed of all) {
    plain.push(await golden(seed, false, calls));
    hedged.push(await golden(seed, true, calls));
  }
  const cut = hedged.map(({ p99Ms }, i) => 100 * (1 - p99Ms / plain[i]!.p99Ms));
  return [
    `golden tail, ${seeds} seeds, n ${calls} each: TTFT p99 ${range(plain.map((o) => o.p99Ms))} ms` +
      ` → ${range(hedged.map((o) => o.p99Ms))} ms, down by ${range(cut)} %`,
    `  for ${range(
      hedged.map((o) => 100 * o.more),
      1,
    )} % more calls, ${range(hedged.map((o) => (100 * o.won) / o.begun))} % of hedges won, ` +
      `${range(
        hedged.map((o) => 100 * o.wasted),
        1,
      )} % of prompt tokens for nobody`,
  ];
}

function range(of: readonly number[], digits = 0): string {
  const [low, high] = [Math.min(...of).toFixed(digits), Math.max(...of).toFixed(digits)];
  return low === high ? low : `${low} to ${high}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      serve: { type: "boolean", default: false },
      calls: { type: "string", default: "2000" },
      rounds: { type: "string", default: "5" },
      seeds: { type: "string", default: "3" },
    },
  });
  if (values.serve) {
    serve();
    return;
  }
  const calls = Number(values.calls);
  console.log(
    `${TOKENS} chunks an answer, ${PARALLEL} calls at a time, ${values.rounds} rounds in turns`,
  );
  for (const line of await measureCost(calls, Number(values.rounds))) console.log(line);
  console.log(await measureOwn(calls));
  for (const line of await measureHedging(calls * 2, Number(values.seeds))) console.log(line);
  for (const line of retryTailLines(await retryTails({ calls, seed: 3 }))) console.log(line);
}

await main();
