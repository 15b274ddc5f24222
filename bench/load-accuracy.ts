/**
 * How exact is the load tool? 400 streams a second arrive, 20 chunks each, 20 ms apart, at a mock that notes the instant
 * before each write, on the clock that all processes of a host share. The client, on another core, says when it saw what;
 * the difference is its error. Beside it, on the same load in the same run, plain `fetch`.
 *
 *     npx tsx bench/load-accuracy.ts [--short]
 *
 * A busy neighbour on the two cores is in these figures; `chrt -r 1 npx tsx bench/load-accuracy.ts --short` keeps it out.
 * Three processes: this one, the mock on core 0 and the client on core 1 (where `taskset` exists).
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { realClock } from "../src/clock/index.ts";
import { Accuracy, Tap } from "../src/load/accuracy.ts";
import { LiveTarget } from "../src/load/live-target.ts";
import { startLoopbackMock } from "../src/load/loopback-mock.ts";
import { runOpenLoop } from "../src/load/open-loop.ts";
import { REQUEST_ID_HEADER } from "../src/load/request-body.ts";
import type { ResultRun } from "../src/load/result-document.ts";
import type { Job, Outcome, Target } from "../src/load/target.ts";
import { generateWorkload } from "../src/load/workload.ts";
import { histogramQuantile } from "../src/stats/index.ts";

const STREAMS_PER_S = 400;
const CHUNKS = 20;
const GAP_US = 20_000;
const TTFT_US = 50_000;
const WARM_UP_S = 1;
const GOAL_P50_MS = 0.15;
const GOAL_P99_MS = 8;
const GOAL_OF_FETCH = 0.5;

type ReaderName = "manx" | "fetch";
const READERS: readonly ReaderName[] = ["manx", "fetch"];

/** What a client saw of one stream. */
interface Seen {
  readonly id: string;
  readonly firstUs: number;
  readonly gapsUs: readonly number[];
}

interface ClientReport {
  readonly seen: readonly Seen[];
  readonly sent: number;
  readonly failed: number;
  readonly lagP99Us: number;
  readonly loopP99Us: number;
  readonly cpuUs: number;
}

interface MockReport {
  readonly truth: readonly (readonly [string, readonly number[]])[];
}

// --- the mock's process

async function serve(): Promise<void> {
  let truth: [string, readonly number[]][] = [];
  const mock = await startLoopbackMock({
    clock: realClock,
    ttftUs: TTFT_US,
    gapUs: GAP_US,
    chunks: CHUNKS,
    onTruth: (id, writesUs) => truth.push([id, writesUs]),
  });
  process.on("message", () => {
    process.send!({ truth } satisfies MockReport);
    truth = [];
  });
  process.send!({ url: mock.url });
}

// --- the client's process

async function measure(reader: ReaderName, url: string, seconds: number): Promise<void> {
  const nonce = `${reader}${realClock.nowUs()}`;
  const seen: Seen[] = [];
  const live = new LiveTarget({ url, clock: realClock, model: "mock", nonce, seed: 1 });
  const target =
    reader === "fetch"
      ? new FetchTarget(url, nonce, (one) => seen.push(one))
      : new Tap(live, ({ index, intendedUs }, { stream }) => {
          if (stream?.ttftUs == null) return;
          const firstUs = intendedUs + stream.ttftUs;
          seen.push({ id: `${nonce}-${index}`, firstUs, gapsUs: stream.chunkGapsUs });
        });
  // Compiled and connected, as either program is after its first second.
  await offer(target, reader, WARM_UP_S);
  seen.length = 0;
  const before = process.cpuUsage();
  const run = await offer(target, reader, seconds);
  const { user, system } = process.cpuUsage(before);
  live.close();
  const p99 = (name: string): number =>
    run.metrics[name]?.quantiles.find(({ q }) => q === 0.99)?.value ?? 0;
  const { sent, failed } = run.counts;
  const report: ClientReport = {
    seen,
    sent,
    failed,
    lagP99Us: p99("scheduleLagUs"),
    loopP99Us: p99("loopLagUs"),
    cpuUs: user + system,
  };
  process.send!(report, () => process.exit(0));
}

function offer(target: Target, name: string, seconds: number): Promise<ResultRun> {
  const spanUs = seconds * 1e6;
  return runOpenLoop({
    name,
    world: "live",
    seed: 1,
    conditions: {
      target: "mock",
      arrivals: "poisson",
      workload: "mock",
      temperature: "mixed",
      cacheMode: "none",
      setup: {},
    },
    clock: realClock,
    requests: generateWorkload({
      process: "poisson",
      ratePerS: STREAMS_PER_S,
      durationUs: spanUs,
      seed: 1,
      promptTokens: 16,
      outputTokens: CHUNKS,
    }),
    spanUs,
    target,
  });
}

/** What a program does that is written without thinking of load: fetch, a reader, a decoder, JSON. */
class FetchTarget implements Target {
  readonly #url: string;
  readonly #nonce: string;
  readonly #onSeen: (seen: Seen) => void;

  constructor(url: string, nonce: string, onSeen: (seen: Seen) => void) {
    this.#url = url;
    this.#nonce = nonce;
    this.#onSeen = onSeen;
  }

  send({ index }: Job, done: (outcome: Outcome) => void): void {
    const sentUs = realClock.nowUs();
    const end = (failure: Outcome["failure"]): void =>
      done({
        failure,
        sentUs,
        headersUs: null,
        endUs: realClock.nowUs(),
        connection: null,
        stream: null,
        outputTokens: null,
      });
    this.#read(`${this.#nonce}-${index}`).then(
      () => end(null),
      () => end("connection-lost"),
    );
  }

  async #read(id: string): Promise<void> {
    const response = await fetch(`${this.#url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", [REQUEST_ID_HEADER]: id },
      body: JSON.stringify({ model: "mock", stream: true, messages: [] }),
    });
    const decoder = new TextDecoder();
    const timesUs: number[] = [];
    let text = "";
    for await (const bytes of response.body!) {
      text += decoder.decode(bytes, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const data = frame.replace(/^data: ?/, "");
        if (data === "[DONE]") continue;
        const content = JSON.parse(data).choices[0]?.delta?.content;
        if (content) timesUs.push(realClock.nowUs());
      }
    }
    const gapsUs = timesUs.slice(1).map((atUs, i) => atUs - timesUs[i]!);
    this.#onSeen({ id, firstUs: timesUs[0]!, gapsUs });
  }
}

// --- this process

const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;

function child(core: number, args: readonly string[]): ChildProcess {
  const node = [...process.execArgv, fileURLToPath(import.meta.url), ...args];
  const [command, rest] = hasTaskset
    ? (["taskset", ["-c", String(core), process.execPath, ...node]] as const)
    : ([process.execPath, node] as const);
  return spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

function message<Message>(process: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    process.once("message", (value) => resolve(value as Message));
    process.once("exit", (code) => reject(new Error(`a child ended with ${code}`)));
  });
}

interface Totals {
  readonly accuracy: Accuracy;
  lagP99Us: number[];
  loopP99Us: number[];
  sent: number;
  failed: number;
  cpuUs: number;
}

function noTotals(): Totals {
  return { accuracy: new Accuracy(), lagP99Us: [], loopP99Us: [], sent: 0, failed: 0, cpuUs: 0 };
}

async function round(
  mock: ChildProcess,
  url: string,
  reader: ReaderName,
  seconds: number,
  totals: Totals,
): Promise<void> {
  const client = child(1, ["client", reader, url, String(seconds)]);
  const report = await message<ClientReport>(client);
  const answer = message<MockReport>(mock);
  mock.send("truth");
  const truth = new Map((await answer).truth);
  for (const { id, firstUs, gapsUs } of report.seen) {
    totals.accuracy.add(truth.get(id), firstUs, gapsUs);
  }
  totals.lagP99Us.push(report.lagP99Us);
  totals.loopP99Us.push(report.loopP99Us);
  totals.sent += report.sent;
  totals.failed += report.failed;
  totals.cpuUs += report.cpuUs;
}

function ms(us: number): string {
  return (us / 1_000).toFixed(2).padStart(8);
}

async function main(): Promise<void> {
  const isShort = process.argv.includes("--short");
  const [rounds, seconds] = isShort ? [1, 2] : [3, 6];
  const mock = child(0, ["mock"]);
  const totals: Record<ReaderName, Totals> = { manx: noTotals(), fetch: noTotals() };
  try {
    const { url } = await message<{ url: string }>(mock);
    for (let i = 0; i < rounds; i += 1) {
      // In turn, and the other one first each time, so that a busy neighbour meets both.
      for (const reader of i % 2 === 0 ? READERS : [...READERS].reverse()) {
        await round(mock, url, reader, seconds, totals[reader]);
      }
    }
  } finally {
    mock.kill();
  }
  print(totals, rounds, seconds);
}

function print(totals: Record<ReaderName, Totals>, rounds: number, seconds: number): void {
  const pinned = hasTaskset ? "mock on core 0, client on core 1" : "not pinned: no taskset";
  console.log(
    `${STREAMS_PER_S} streams/s, ${CHUNKS} chunks ${GAP_US / 1_000} ms apart, ` +
      `${rounds} x ${seconds} s each, in turn; ${pinned}; client minus truth, ms`,
  );
  console.log(
    "reader   streams  failed  TTFT p50  TTFT p99   gap p50   gap p99   lag p99  loop p99  CPU us/event",
  );
  for (const name of READERS) {
    const { accuracy, lagP99Us, loopP99Us, sent, failed, cpuUs } = totals[name];
    const gap = (q: number): number => histogramQuantile(accuracy.gapError, q).value;
    console.log(
      `${name.padEnd(8)} ${String(accuracy.ttftError.n).padStart(7)} ${String(failed).padStart(7)}  ` +
        `${ms(accuracy.ttft(0.5).value)}  ${ms(accuracy.ttft(0.99).value)}  ${ms(gap(0.5))}  ${ms(gap(0.99))}  ` +
        `${ms(Math.max(...lagP99Us))}  ${ms(Math.max(...loopP99Us))}  ${(cpuUs / (sent * (CHUNKS + 1))).toFixed(1).padStart(12)}`,
    );
    if (accuracy.missing + accuracy.impossible > 0) {
      console.log(`         ${accuracy.missing} without truth, ${accuracy.impossible} before it`);
    }
  }
  verdict(totals);
}

function verdict(totals: Record<ReaderName, Totals>): void {
  const [p50, p99] = [0.5, 0.99].map((q) => totals.manx.accuracy.ttft(q).value / 1_000);
  const [ratio50, ratio99] = [0.5, 0.99].map(
    (q) => totals.manx.accuracy.ttft(q).value / totals.fetch.accuracy.ttft(q).value,
  );
  const mark = (isMet: boolean): string => (isMet ? "met" : "MISSED");
  console.log(
    `TTFT error p50 ${p50!.toFixed(2)} ms, goal ${GOAL_P50_MS}: ${mark(p50! <= GOAL_P50_MS)}; ` +
      `p99 ${p99!.toFixed(2)} ms, goal ${GOAL_P99_MS}: ${mark(p99! <= GOAL_P99_MS)}`,
  );
  console.log(
    `of fetch's error: p50 ${ratio50!.toFixed(2)}, p99 ${ratio99!.toFixed(2)}, ` +
      `goal ${GOAL_OF_FETCH}: ${mark(ratio50! <= GOAL_OF_FETCH && ratio99! <= GOAL_OF_FETCH)}`,
  );
}

const [role, reader, url, seconds] = process.argv.slice(2);
if (role === "mock") await serve();
else if (role === "client") await measure(reader as ReaderName, url!, Number(seconds));
else await main();
