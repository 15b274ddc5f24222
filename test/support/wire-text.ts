/** Streams as text and bytes for tests: frames of both wires, and decoding them in any pieces. */
import {
  type Completion,
  createDecoder,
  type DecodableFormat,
  type StreamEvent,
} from "../../src/stream/index.ts";

const ENCODER = new TextEncoder();

export function bytesOf(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Chat frames; a string is taken as the data itself, such as `[DONE]`. */
export function chatWire(...frames: readonly unknown[]): string {
  return frames
    .map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`)
    .join("");
}

export function messagesWire(...frames: ReadonlyArray<{ readonly type: string }>): string {
  return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
}

/** One chat chunk with one choice. */
export function delta(fields: object, finish?: string): object {
  const choice = {
    index: 0,
    delta: fields,
    ...(finish !== undefined && { finish_reason: finish }),
  };
  return { id: "x", model: "m", choices: [choice] };
}

export interface Decoded {
  readonly events: readonly StreamEvent[];
  readonly completion: Completion;
  readonly text: string;
}

/** @param cuts positions in the bytes at which one read ends and the next begins. All reads are at 0 µs. */
export function decode(
  format: DecodableFormat,
  wire: string | Uint8Array,
  cuts: readonly number[] = [],
): Decoded {
  const bytes = typeof wire === "string" ? bytesOf(wire) : wire;
  const decoder = createDecoder(format);
  const events: StreamEvent[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    events.push(...decoder.push(bytes.subarray(from, cut), 0));
    from = cut;
  }
  events.push(...decoder.end(0));
  return { events, completion: decoder.completion, text: textIn(events) };
}

/** All cuts that make one read of each byte. */
export function everyByte(bytes: Uint8Array): number[] {
  return Array.from(bytes, (_, i) => i).slice(1);
}

export function textIn(events: readonly StreamEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

export function typesIn(events: readonly StreamEvent[]): string[] {
  return events.map((event) => event.type);
}
