/**
 * What an event costs from bytes to timeline, beside bare `JSON.parse` of the same frames' data, which no reader of this
 * wire can do without. Ratios hold across machines, microseconds do not.
 *
 * Three ways of arriving: one frame a read, sixteen a read, and one frame in two reads; and one frame a read without its
 * events, for an observer that wants figures only, as in the gateway. Frames are alike but for their text, or have
 * OpenAI's filler as well, or differ in a time of their own, so that each has to be parsed. Rounds alternate with the
 * bare parse; the minimum is the figure, since noise only adds, and the median stands beside it.
 *
 *     npx tsx bench/stream.ts
 */
import {
  createDecoder,
  type StreamFormat,
  StreamObserver,
  StreamTimeline,
} from "../src/stream/index.ts";

const STREAM_CHUNKS = 200;
const STREAMS = 50;
const ROUNDS = 15;
const GOAL_US = 5;

const UTF8 = new TextEncoder();

function chatFrames(more: (i: number) => object = () => ({})): string[] {
  const shared = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000 };
  return Array.from({ length: STREAM_CHUNKS }, (_, i) =>
    JSON.stringify({
      ...shared,
      model: "some-model-0125",
      system_fingerprint: "fp_0000000000",
      choices: [{ index: 0, delta: { content: ` word${i}` }, logprobs: null, finish_reason: null }],
      ...more(i),
    }),
  );
}

function messagesFrames(): string[] {
  return Array.from({ length: STREAM_CHUNKS }, (_, i) =>
    JSON.stringify({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: ` word${i}` },
    }),
  );
}

function timeUs(run: () => unknown): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1_000 / (STREAM_CHUNKS * STREAMS);
}

function bareParse(frames: readonly string[]): number {
  let objects = 0;
  for (let stream = 0; stream < STREAMS; stream += 1) {
    for (const frame of frames) objects += typeof JSON.parse(frame) === "object" ? 1 : 0;
  }
  return objects;
}

function decodeAndTime(format: StreamFormat, reads: readonly Uint8Array[]): number {
  let chunks = 0;
  for (let stream = 0; stream < STREAMS; stream += 1) {
    const decoder = createDecoder(format);
    const timeline = new StreamTimeline({ intendedUs: 0 });
    for (const [i, read] of reads.entries()) timeline.add(decoder.push(read, i * 1_000));
    timeline.add(decoder.end(reads.length * 1_000));
    chunks += timeline.metrics().chunks;
  }
  return chunks;
}

/** As the gateway reads it: figures only. */
function observe(format: StreamFormat, reads: readonly Uint8Array[]): number {
  let chunks = 0;
  for (let stream = 0; stream < STREAMS; stream += 1) {
    const observer = new StreamObserver(format, 0);
    for (const [i, read] of reads.entries()) observer.push(read, i * 1_000);
    observer.end(reads.length * 1_000);
    chunks += observer.metrics.chunks;
  }
  return chunks;
}

function group(frames: readonly string[], size: number): Uint8Array[] {
  const reads: Uint8Array[] = [];
  for (let i = 0; i < frames.length; i += size) {
    reads.push(UTF8.encode(frames.slice(i, i + size).join("")));
  }
  return reads;
}

function halve(reads: readonly Uint8Array[]): Uint8Array[] {
  return reads.flatMap((read) => [read.slice(0, read.length >> 1), read.slice(read.length >> 1)]);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function report(name: string, oursUs: readonly number[], bareUs: readonly number[]): void {
  const [best, bare] = [Math.min(...oursUs), Math.min(...bareUs)];
  const parts = [
    name.padEnd(50),
    `${best.toFixed(2)} µs an event (median ${median(oursUs).toFixed(2)})`,
    `${Math.round(1e6 / best).toLocaleString("en-US")} events/s`,
    `JSON.parse ${bare.toFixed(2)} µs`,
    `ratio ${(best / bare).toFixed(2)}`,
    best < GOAL_US ? `goal < ${GOAL_US} µs met` : `goal < ${GOAL_US} µs MISSED`,
  ];
  console.log(parts.join("  "));
}

const data = (json: string): string => `data: ${json}\n\n`;
const filler = (i: number): object => ({ usage: null, obfuscation: "x".repeat(i % 9) });
const WIRES: readonly (readonly [string, StreamFormat, string[], (json: string) => string])[] = [
  ["openai-chat", "openai-chat", chatFrames(), data],
  ["openai-chat with filler", "openai-chat", chatFrames(filler), data],
  ["openai-chat, all different", "openai-chat", chatFrames((i) => ({ timings: i })), data],
  [
    "anthropic-messages",
    "anthropic-messages",
    messagesFrames(),
    (json) => `event: content_block_delta\n${data(json)}`,
  ],
];

console.log(
  `decode + timeline, ${STREAMS} streams of ${STREAM_CHUNKS} events, minimum of ${ROUNDS} rounds`,
);
for (const [name, format, jsons, frame] of WIRES) {
  const wire = jsons.map(frame);
  const single = group(wire, 1);
  const ways = [
    ["one frame a read", single, decodeAndTime],
    ["16 frames a read", group(wire, 16), decodeAndTime],
    ["one frame in two reads", halve(single), decodeAndTime],
    ["figures only", single, observe],
  ] as const;
  for (const [way, reads, read] of ways) {
    const [oursUs, bareUs]: [number[], number[]] = [[], []];
    read(format, reads);
    bareParse(jsons);
    for (let round = 0; round < ROUNDS; round += 1) {
      oursUs.push(timeUs(() => read(format, reads)));
      bareUs.push(timeUs(() => bareParse(jsons)));
    }
    report(`${name}, ${way}`, oursUs, bareUs);
  }
}
