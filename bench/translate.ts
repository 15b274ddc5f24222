/**
 * What a translated event costs from bytes to bytes, beside plain decoding of the same bytes, which a gateway does anyway
 * for its measurements. Ratios hold across machines, microseconds do not.
 *
 * Each event comes in a read of its own, the dearest way. Rounds alternate with the plain decoder; the minimum is the
 * figure, since noise only adds, and the median stands beside it. The share of text and of tool arguments is half each.
 *
 *     npx tsx bench/translate.ts
 */
import {
  createDecoder,
  createEncoder,
  type StreamEventBody,
  type StreamFormat,
} from "../src/stream/index.ts";
import { StreamTranslator, translateRequest } from "../src/translate/index.ts";

const DELTAS = 200;
const STREAMS = 25;
const ROUNDS = 15;
const GOAL_US = 10;

const UTF8 = new TextEncoder();
const FORMATS: readonly StreamFormat[] = ["openai-chat", "openai-responses", "anthropic-messages"];

function events(): StreamEventBody[] {
  const half = DELTAS / 2;
  const call = { choice: 0, call: 0 };
  const named = { id: "call_1", name: "write", idGenerated: false, byServer: false };
  const pieces = Array.from({ length: half }, (_, i) => `"line ${i}",`);
  const json = ['{"lines":[', ...pieces, '""]}'];
  return [
    { type: "response-start", id: "bench", model: "some-model" },
    ...Array.from(
      { length: half },
      (_, i) => ({ type: "text-delta", choice: 0, text: ` word${i}` }) as const,
    ),
    { type: "tool-start", ...call, ...named },
    ...json.map((piece) => ({ type: "tool-delta", ...call, json: piece }) as const),
    {
      type: "tool-end",
      ...call,
      ...named,
      argumentsText: json.join(""),
      repaired: false,
      problem: null,
    },
    { type: "finish", choice: 0, reason: "tool_calls", rawReason: "tool_calls" },
    { type: "done" },
  ];
}

function readsOf(format: StreamFormat): Uint8Array[] {
  const options = { id: "bench", model: null, createdS: 1_700_000_000, includeUsage: true };
  const encoder = createEncoder(format, options);
  return events()
    .map((event) => encoder.encode(event))
    .filter((frames) => frames !== "")
    .map((frames) => UTF8.encode(frames));
}

function timeUs(reads: number, run: () => unknown): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1_000 / (reads * STREAMS);
}

function decodeAll(format: StreamFormat, reads: readonly Uint8Array[]): number {
  let count = 0;
  for (let stream = 0; stream < STREAMS; stream += 1) {
    const decoder = createDecoder(format);
    for (const read of reads) count += decoder.push(read, 0).length;
    count += decoder.end(0).length;
  }
  return count;
}

function translateAll(from: StreamFormat, to: StreamFormat, reads: readonly Uint8Array[]): number {
  let bytes = 0;
  for (let stream = 0; stream < STREAMS; stream += 1) {
    const translator = new StreamTranslator(from, to, { id: "bench", includeUsage: true });
    for (const read of reads) bytes += translator.push(read, 0).length;
    const end = translator.end(0);
    if (!end.isComplete) throw new Error(`${from} to ${to} is not complete`);
    bytes += end.bytes.length;
  }
  return bytes;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

console.log(
  `one event a read, ${STREAMS} streams of ${DELTAS} deltas, minimum of ${ROUNDS} rounds`,
);
for (const from of FORMATS) {
  const reads = readsOf(from);
  for (const to of FORMATS.filter((one) => one !== from)) {
    const [ours, plain]: [number[], number[]] = [[], []];
    decodeAll(from, reads);
    translateAll(from, to, reads);
    for (let round = 0; round < ROUNDS; round += 1) {
      ours.push(timeUs(reads.length, () => translateAll(from, to, reads)));
      plain.push(timeUs(reads.length, () => decodeAll(from, reads)));
    }
    const [best, bare] = [Math.min(...ours), Math.min(...plain)];
    const parts = [
      `${from} to ${to}`.padEnd(38),
      `${best.toFixed(2)} µs an event (median ${median(ours).toFixed(2)})`,
      `decode alone ${bare.toFixed(2)} µs`,
      `ratio ${(best / bare).toFixed(2)}`,
      best < GOAL_US ? `goal < ${GOAL_US} µs met` : `goal < ${GOAL_US} µs MISSED`,
    ];
    console.log(parts.join("  "));
  }
}

const tools = Array.from({ length: 20 }, (_, i) => ({
  name: `tool_${i}`,
  input_schema: { type: "object", properties: { a: { type: "string" }, b: { type: "number" } } },
}));
const turns = Array.from({ length: 40 }, (_, i) => ({
  role: i % 2 === 0 ? "user" : "assistant",
  content: [{ type: "text", text: "x".repeat(1_000) }],
}));
const body = JSON.stringify({ model: "m", max_tokens: 100, messages: turns, tools });
const requests: number[] = [];
const parses: number[] = [];
for (let round = 0; round < 200; round += 1) {
  let start = process.hrtime.bigint();
  const parsed: unknown = JSON.parse(body);
  parses.push(Number(process.hrtime.bigint() - start) / 1_000);
  start = process.hrtime.bigint();
  translateRequest(parsed, "anthropic-messages", "openai-chat");
  requests.push(Number(process.hrtime.bigint() - start) / 1_000);
}
console.log(
  `request of ${body.length} characters, 40 turns, 20 tools: ${median(requests).toFixed(0)} µs beside JSON.parse ${median(parses).toFixed(0)} µs (medians of 200)`,
);
