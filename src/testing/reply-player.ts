/** Plays a scripted reply on a clock into whatever carries it: the same code behind a socket and in simulated time. */
import type { Clock } from "../clock/index.ts";
import { createEncoder, type StreamEventBody, type StreamFormat } from "../stream/index.ts";
import { replyTimeline, type ScriptedReply } from "./scripted-reply.ts";

export interface ReplySink {
  write(text: string): void;
  end(): void;
  /** The connection is lost. */
  cut(): void;
}

export interface PlayOptions {
  /** Of the request, from 1. */
  readonly number: number;
  readonly format: StreamFormat;
  readonly clock: Clock;
  /** Whoever listens has left. */
  readonly signal: AbortSignal;
}

/** Rejects only with the signal's reason. */
export async function playReply(
  reply: ScriptedReply,
  { number, format, clock, signal }: PlayOptions,
  sink: ReplySink,
): Promise<void> {
  const startUs = clock.nowUs();
  const head = { id: `r${number}`, model: "scripted", createdS: 1_700_000_000, includeUsage: true };
  const encoder = createEncoder(format, head);
  const write = (events: readonly StreamEventBody[]): void => {
    const text = events.map((event) => encoder.encode(event)).join("");
    if (text !== "") sink.write(text);
  };
  const until = async (atUs: number): Promise<void> => {
    signal.throwIfAborted();
    if (startUs + atUs > clock.nowUs()) await clock.sleepUntil(startUs + atUs, signal);
  };
  const { pieces, end } = replyTimeline(reply, number);
  for (const { atUs, events } of pieces) {
    await until(atUs);
    write(events);
  }
  await reply.before?.();
  if (reply.cut === true) {
    sink.cut();
    return;
  }
  await until(end.atUs);
  write(end.events);
  sink.end();
}
