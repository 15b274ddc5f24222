/**
 * Three calls of 40 tokens in one message at 60 tokens/s, 60 tokens of text after them, tools log-normal with a median of 1 s: when
 * a tool starts. Through a turn of the runtime in simulated time, against both baselines, since "faster" is much against tools
 * one after the other and less against tools side by side.
 */
import { Random, SimClock } from "../clock/index.ts";
import { US_PER_S } from "../core/index.ts";
import { type Effect, type Tool, Turn, tool } from "../runtime/index.ts";
import { type Quantile, sampleQuantile } from "../stats/index.ts";
import { callChunk, END_CHUNK, textChunk } from "./chat-message.ts";

const CALLS = 3;
const TTFT_US = 400_000;
const TOKEN_US = Math.round(US_PER_S / 60);
const ARGUMENT_TOKENS = 40;
/** The field with which a tool can begin. */
const FIELD_TOKENS = 10;
const TEXT_TOKENS = 60;
const SIGMA = 0.6;

export interface StreamingWay {
  readonly name: string;
  readonly p50: Quantile;
  readonly p99: Quantile;
}

interface Way {
  readonly name: string;
  /** An idempotent tool waits for the whole message, as all tools do where nothing starts early. */
  readonly effect: Effect;
  readonly startWhen?: string;
}

const WAYS: readonly Way[] = [
  { name: "side by side, after the message", effect: "idempotent" },
  { name: "at the closing brace", effect: "pure" },
  { name: "when its field is there", effect: "pure", startWhen: "q" },
];

export async function streamingWays(turns: number, seed: number): Promise<readonly StreamingWay[]> {
  const rows = drawn(turns, seed);
  const callUs = TTFT_US + ARGUMENT_TOKENS * TOKEN_US;
  const serial = rows.map((row) => row.reduce((sum, us) => sum + callUs + us, 0));
  const ways = [wayOf("one after the other, a message each", serial)];
  for (const way of WAYS) ways.push(wayOf(way.name, await play(way, rows)));
  return ways;
}

function drawn(turns: number, seed: number): readonly (readonly number[])[] {
  const random = new Random(seed, "tools");
  return Array.from({ length: turns }, () =>
    Array.from({ length: CALLS }, () => Math.round(US_PER_S * Math.exp(SIGMA * random.normal()))),
  );
}

async function play(way: Way, rows: readonly (readonly number[])[]): Promise<readonly number[]> {
  const clock = new SimClock();
  let row: readonly number[] = [];
  const tools: readonly Tool[] = Array.from({ length: CALLS }, (_, i) =>
    tool<unknown, unknown>({
      name: `tool-${i}`,
      effect: way.effect,
      input: (value) => value,
      ...(way.startWhen !== undefined && { startWhen: way.startWhen }),
      run: (_args, { signal }) => clock.sleepUntil(clock.nowUs() + row[i]!, signal),
    }),
  );
  const walls: number[] = [];
  const all = (async () => {
    for (const times of rows) {
      row = times;
      const startUs = clock.nowUs();
      const turn = new Turn({ tools, clock });
      const step = turn.step("openai-chat");
      for (const [afterUs, chunk] of message()) {
        await clock.sleepUntil(startUs + afterUs);
        step.chunk(chunk);
      }
      step.end();
      await step.results();
      walls.push(clock.nowUs() - startUs);
      await turn.close();
    }
  })();
  await clock.run();
  await all;
  return walls;
}

/** Chunks with their µs from the start. */
function* message(): Generator<readonly [afterUs: number, chunk: object]> {
  let atUs = TTFT_US;
  for (let i = 0; i < CALLS; i += 1) {
    yield [atUs, callChunk(i, "{", `tool-${i}`)];
    yield [atUs + FIELD_TOKENS * TOKEN_US, callChunk(i, '"q":"a","why":"')];
    atUs += ARGUMENT_TOKENS * TOKEN_US;
    yield [atUs, callChunk(i, 'because"}')];
  }
  atUs += TEXT_TOKENS * TOKEN_US;
  yield [atUs, textChunk("I look that up.")];
  yield [atUs, END_CHUNK];
}

function wayOf(name: string, times: readonly number[]): StreamingWay {
  const sorted = [...times].sort((a, b) => a - b);
  return { name, p50: sampleQuantile(sorted, 0.5), p99: sampleQuantile(sorted, 0.99) };
}
