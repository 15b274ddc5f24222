/**
 * What an event costs from bytes to timeline, beside bare `JSON.parse` of the same frames' data, which no reader of this
 * wire can do without. Ratios hold across machines, microseconds do not.
 *
 * Three ways of arriving: one frame a read, sixteen a read, and one frame in two reads. Rounds alternate with the bare
 * parse; the minimum is the figure, since noise only adds, and the median stands beside it.
 *
 *     npx tsx bench/stream.ts
 */
import { createDecoder, type StreamFormat, StreamTimeline } from "../src/stream/index.ts";

const STREAM_CHUNKS = 200;
const STREAMS = 50;
const ROUNDS = 15;
const GOAL_US = 5;

const UTF8 = new TextEncoder();

function chatFrames(): string[] {
  const shared = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000 };
  return Array.from({ length: STREAM_CHUNKS }, (_, i) =>
    JSON.stringify({
      ...shared,
      model: "some-model-0125",
      system_fingerprint: "fp_0000000000",
      choices: [{ index: 0, delta: { content: ` word${i}` }, logprobs: null, finish_reason: null }],
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
    name.padEnd(42),
    `${best.toFixed(2)} µs an event (median ${median(oursUs).toFixed(2)})`,
    `${Math.round(1e6 / best).toLocaleString("en-US")} events/s`,
    `JSON.parse ${bare.toFixed(2)} µs`,
    `ratio ${(best / bare).toFixed(2)}`,
    best < GOAL_US ? `goal < ${GOAL_US} µs met` : `goal < ${GOAL_US} µs MISSED`,
  ];
  console.log(parts.join("  "));
}

const WIRES = [
  ["openai-chat", chatFrames(), (json: string) => `data: ${json}\n\n`],
  [
    "anthropic-messages",
    messagesFrames(),
    (json: string) => `event: content_block_delta\ndata: ${json}\n\n`,
  ],
] as const;

console.log(
  `decode + timeline, ${STREAMS} streams of ${STREAM_CHUNKS} events, minimum of ${ROUNDS} rounds`,
);
for (const [format, jsons, frame] of WIRES) {
  const wire = jsons.map(frame);
  const ways = [
    ["one frame a read", group(wire, 1)],
    ["16 frames a read", group(wire, 16)],
    ["one frame in two reads", halve(group(wire, 1))],
  ] as const;
  for (const [way, reads] of ways) {
    const [oursUs, bareUs]: [number[], number[]] = [[], []];
    decodeAndTime(format, reads);
    bareParse(jsons);
    for (let round = 0; round < ROUNDS; round += 1) {
      oursUs.push(timeUs(() => decodeAndTime(format, reads)));
      bareUs.push(timeUs(() => bareParse(jsons)));
    }
    report(`${format}, ${way}`, oursUs, bareUs);
  }
}
