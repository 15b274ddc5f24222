/**
 * When tool calls start, in four parts:
 *
 *  1. sealing: one argument of a megabyte in 20,000 deltas, parsed while it arrives; the peer is parsing what has come so far
 *     once per hundred deltas, which already is a hundredth of what parsing at each delta costs;
 *  2. start delay: from the read with the closing brace to the tool's first line, over loopback HTTP at 10,000 deltas a second,
 *     on four wires;
 *  3. the same for the first calls of fresh processes, with and without a rehearsal (`rehearseDispatch`);
 *  4. a stream with three calls of 800 ms each, 400 ms apart: Manx, the Anthropic SDK (eager and default), and plain code that
 *     waits for the message and then runs the tools beside each other or one after the other.
 *
 *     npm run bench:dispatch [-- --rounds 3]
 */
import { execFile } from "node:child_process";
import { request } from "node:http";
import { parseArgs, promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { type Tool, Turn, tool } from "../src/runtime/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";
import { type DecodableFormat, JsonSealer } from "../src/stream/index.ts";
import { type MockProvider, startMockProvider, type TimedText } from "./dispatch/mock-provider.ts";
import { WIRE_WRITERS, type WireCall } from "./dispatch/wires.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });
const rounds = Number(values.rounds);

const UTF8 = new TextEncoder();
const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function anyTool(name: string, run: Tool["run"]): Tool {
  return tool<unknown, unknown>({
    name,
    effect: "pure",
    input: (value) => value,
    run: run as never,
  });
}

/** Reads a response and gives each read to the step. */
function stream(url: string, push: (bytes: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: "POST" }, (response) => {
      response.on("data", push);
      response.on("end", resolve);
      response.on("error", reject);
    });
    call.on("error", reject);
    call.end();
  });
}

function sealing(): void {
  const text = JSON.stringify({ path: "a.ts", content: 'const x = "1";\n'.repeat(56_000) });
  const size = Math.ceil(text.length / 20_000);
  const pieces = Array.from({ length: 20_000 }, (_, i) => text.slice(i * size, (i + 1) * size));
  const [call] = WIRE_WRITERS["openai-chat"]([{ name: "write", pieces }]).calls;
  const reads = [...call!.open, ...call!.args].map((frame) => UTF8.encode(frame));
  const [sealMs, wholeMs, parseMs]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < Math.max(5, rounds); round += 1) {
    sealMs.push(
      timed(() => {
        const sealer = new JsonSealer();
        for (const piece of pieces) sealer.push(piece);
        if (!sealer.isClosed) throw new Error("not sealed");
      }),
    );
    let runs = 0;
    wholeMs.push(
      timed(() => {
        const turn = new Turn({ tools: [anyTool("write", () => (runs += 1))] });
        const step = turn.step("openai-chat");
        for (const read of reads) step.push(read);
      }),
    );
    if (runs !== 1) throw new Error("not started");
    parseMs.push(timed(() => reparse(pieces)));
  }
  const best = (all: readonly number[]): string => ms(Math.min(...all)).padStart(8);
  console.log(`${text.length.toLocaleString("en-US")} characters of arguments in 20,000 deltas`);
  console.log(`  sealer alone                           ${best(sealMs)}  (goal < 50 ms)`);
  console.log(`  bytes → decoder → dispatch → tool runs ${best(wholeMs)}`);
  console.log(`  JSON.parse of the prefix every 100th   ${best(parseMs)}`);
}

function reparse(pieces: readonly string[]): void {
  let text = "";
  for (const [i, piece] of pieces.entries()) {
    text += piece;
    if (i % 100 !== 99) continue;
    try {
      JSON.parse(text);
    } catch {
      // Not whole yet.
    }
  }
}

async function startDelay(format: DecodableFormat): Promise<void> {
  const calls: WireCall[] = Array.from({ length: 250 }, (_, i) => {
    const text = JSON.stringify({ query: `number ${i} of the calls`, limit: i, tags: ["a", "b"] });
    const pieces = text.match(/.{1,2}/gs)!;
    return { name: "search", pieces };
  });
  const message = WIRE_WRITERS[format](calls);
  const frames = [
    ...message.head,
    ...message.calls.flatMap(({ open, args, close }) => [...open, ...args, ...close]),
    ...message.tail,
  ];
  const script: TimedText[] = [];
  // Ten deltas a millisecond; where a call is one frame, that many calls at once would only measure each other.
  const perMs = format === "gemini" ? 1 : 10;
  for (let i = 0; i < frames.length; i += perMs) {
    script.push([1, frames.slice(i, i + perMs).join("")]);
  }
  const provider = await startMockProvider([script]);
  const delays: number[] = [];
  const batches: number[] = [];
  let readMs = 0;
  // The first round warms the code up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    if (round === 1) {
      delays.length = 0;
      batches.length = 0;
    }
    const search = anyTool("search", () => void delays.push(performance.now() - readMs));
    const step = new Turn({ tools: [search] }).step(format);
    const startMs = performance.now();
    await stream(provider.url, (bytes) => {
      readMs = performance.now();
      step.push(bytes);
    });
    step.end();
    await step.results();
    batches.push(frames.length / (performance.now() - startMs));
  }
  await provider.close();
  const sorted = delays.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((q) => sampleQuantile(sorted, q).value);
  const perS = Math.round((1_000 * batches.reduce((sum, one) => sum + one, 0)) / batches.length);
  console.log(
    `  ${format.padEnd(20)} p50 ${ms(p50!)}  p99 ${ms(p99!)}  worst ${ms(sorted.at(-1)!)}  ` +
      `n = ${sorted.length}, ${perS.toLocaleString("en-US")} frames/s`,
  );
}

/** Processes side by side would measure each other, so they come in turn. */
async function firstCalls(): Promise<void> {
  const delays = { plain: [] as number[], rehearsed: [] as number[] };
  const first = { plain: [] as number[], rehearsed: [] as number[] };
  for (let round = 0; round < Math.max(5, rounds); round += 1) {
    for (const how of ["plain", "rehearsed"] as const) {
      const { stdout } = await promisify(execFile)(process.execPath, [
        ...["--import", "tsx", new URL("./dispatch/first-calls.ts", import.meta.url).pathname],
        ...["openai-chat", how],
      ]);
      const seen = JSON.parse(stdout) as number[];
      first[how].push(seen[0]!);
      delays[how].push(...seen);
    }
  }
  for (const how of ["plain", "rehearsed"] as const) {
    const sorted = delays[how].sort((a, b) => a - b);
    const at = (q: number): string => ms(sampleQuantile(sorted, q).value);
    const opening = sampleQuantile(
      first[how].sort((a, b) => a - b),
      0.5,
    );
    console.log(
      `  ${how.padEnd(10)} very first ${ms(opening.value)} (median of ${opening.n})  ` +
        `first 40: p50 ${at(0.5)}  p90 ${at(0.9)}  p95 ${at(0.95)}  n = ${sorted.length}`,
    );
  }
}

const TOOL_MS = 800;
const TOOLS = ["first", "second", "third"];
const sleep = (forMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, forMs));

/** Brace, 150 ms, end of the block, 250 ms, next block; 300 ms after the last one the end of the message. */
function threeCalls(): { script: readonly TimedText[]; braces: readonly number[] } {
  const pieces = ['{"q":', '"a"', "}"];
  const message = WIRE_WRITERS["anthropic-messages"](TOOLS.map((name) => ({ name, pieces })));
  const script: TimedText[] = [[0, message.head.join("")]];
  const braces: number[] = [];
  for (const [i, { open, args, close }] of message.calls.entries()) {
    script.push([i === 0 ? 50 : 250, open.join("")], [0, args.join("")]);
    braces.push(script.length - 1);
    script.push([150, close.join("")]);
  }
  script.push([300, message.tail.join("")]);
  return { script, braces };
}

const FINAL: readonly TimedText[] = [
  [
    0,
    WIRE_WRITERS["anthropic-messages"]([]).head.join("") +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}\n\n' +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ],
];

interface Lap {
  readonly startsMs: readonly number[];
  /** From the request to all results. */
  readonly totalMs: number;
}

type Runner = (provider: MockProvider, onStart: (name: string) => void) => Promise<number>;

const RUNNERS: Readonly<Record<string, Runner>> = {
  "Manx, at the brace": async ({ url }, onStart) => {
    const tools = TOOLS.map((name) =>
      anyTool(name, async () => {
        onStart(name);
        await sleep(TOOL_MS);
        return "ok";
      }),
    );
    const step = new Turn({ tools }).step("anthropic-messages");
    await stream(url, (bytes) => void step.push(bytes));
    step.end();
    await step.messages();
    return performance.now();
  },
  "Anthropic SDK, eager": (provider, onStart) => sdkRun(provider, onStart, true),
  "Anthropic SDK, default": (provider, onStart) => sdkRun(provider, onStart, false),
  "after the message, parallel": (provider, onStart) => plainRun(provider, onStart, true),
  "after the message, serial": (provider, onStart) => plainRun(provider, onStart, false),
};

async function sdkRun(
  { url, requestsMs }: MockProvider,
  onStart: (name: string) => void,
  runToolsEagerly: boolean,
): Promise<number> {
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const tools = TOOLS.map((name) => ({
    type: "custom" as const,
    name,
    input_schema: { type: "object" as const },
    parse: (value: unknown) => value,
    run: async () => {
      onStart(name);
      await sleep(TOOL_MS);
      return "ok";
    },
  }));
  const runner = client.beta.messages.toolRunner({
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "go" }],
    tools,
    stream: true,
    runToolsEagerly,
  });
  for await (const message of runner) for await (const _ of message);
  // The second request goes out when all results are there.
  return requestsMs[1]!;
}

async function plainRun(
  { url }: MockProvider,
  onStart: (name: string) => void,
  isParallel: boolean,
): Promise<number> {
  const step = new Turn({ tools: [] }).step("anthropic-messages");
  await stream(url, (bytes) => void step.push(bytes));
  step.end();
  const run = async (name: string): Promise<void> => {
    onStart(name);
    await sleep(TOOL_MS);
  };
  const names = step.completion.toolCalls.map(({ name }) => name);
  if (isParallel) await Promise.all(names.map(run));
  else for (const name of names) await run(name);
  return performance.now();
}

async function lap(runner: Runner): Promise<Lap> {
  const { script, braces } = threeCalls();
  const provider = await startMockProvider([script, FINAL]);
  const starts = new Map<string, number>();
  const endMs = await runner(provider, (name) => starts.set(name, performance.now()));
  await provider.close();
  return {
    startsMs: TOOLS.map((name, i) => starts.get(name)! - provider.writtenMs[braces[i]!]!),
    totalMs: endMs - provider.requestsMs[0]!,
  };
}

async function threeTools(): Promise<void> {
  const laps = new Map<string, Lap[]>(Object.keys(RUNNERS).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, runner] of Object.entries(RUNNERS)) laps.get(name)!.push(await lap(runner));
  }
  const middle = (all: readonly number[]): number =>
    [...all].sort((a, b) => a - b)[all.length >> 1]!;
  const ours = middle(laps.get("Manx, at the brace")!.map(({ totalMs }) => totalMs));
  console.log(`three calls of ${TOOL_MS} ms, medians of ${rounds} rounds`);
  console.log(
    "  from the closing brace to the start of tool 1 / 2 / 3, and from the request to all results",
  );
  for (const [name, all] of laps) {
    const starts = TOOLS.map((_, i) => middle(all.map(({ startsMs }) => startsMs[i]!)).toFixed(0));
    const total = middle(all.map(({ totalMs }) => totalMs));
    const change = name.startsWith("Manx")
      ? ""
      : `  Manx ${(100 * (ours / total - 1)).toFixed(0)} %`;
    console.log(
      `  ${name.padEnd(28)} ${starts.map((one) => one.padStart(5)).join(" /")} ms   ${ms(total).padStart(8)}${change}`,
    );
  }
}

sealing();
console.log(
  "\nfrom the read with the closing brace to the tool's first line, loopback HTTP (goal p99 < 1 ms)",
);
for (const format of Object.keys(WIRE_WRITERS) as DecodableFormat[]) await startDelay(format);
console.log("\nthe same for the first calls of a process that has just started, chat completions");
await firstCalls();
console.log("");
await threeTools();
