/**
 * Upstreams behind a `fetch` in simulated time: each hit plays a script, and what was asked, read and cancelled is kept. It
 * obeys its signal as a host's `fetch` does, unless a script says otherwise.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import { US_PER_MS } from "../../src/core/index.ts";
import {
  type ModelCallEvent,
  type ModelCallRecord,
  type ModelFetch,
  type ModelFetchOptions,
  modelFetch,
} from "../../src/runtime/index.ts";
import { bytesOf, chatWire, delta } from "./wire-text.ts";

/** Times in ms from the hit. */
export interface FetchScript {
  /** Infinite: never. Default 5. */
  readonly headMs?: number;
  /** Instead of a head: what `fetch` rejects with, by its code; "" for none. */
  readonly rejects?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly (readonly [atMs: number, text: string])[];
  /** Default: closes with its last chunk. */
  readonly end?: { readonly atMs: number; readonly how: "close" | "cut" | "hang" };
  readonly ignoresSignal?: boolean;
}

export interface Hit {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
  readonly atMs: number;
  /** Its signal, or its reader, has said that the rest is not wanted. */
  cancelledMs: number | undefined;
  /** Its body is over, however. */
  endedMs: number | undefined;
}

export interface FetchWorld {
  readonly clock: SimClock;
  readonly hits: readonly Hit[];
  readonly events: readonly ModelCallEvent[];
  readonly records: readonly ModelCallRecord[];
  readonly nowMs: () => number;
  readonly at: (ms: number, run: () => void) => void;
  readonly fetch: typeof fetch;
  /** A `fetch` of Manx's over this world's. */
  readonly manx: (options?: Partial<ModelFetchOptions>) => ModelFetch;
}

export function fetchWorld(
  script: (hit: Hit, number: number) => FetchScript,
  seed = 1,
): FetchWorld {
  const clock = new SimClock();
  const hits: Hit[] = [];
  const events: ModelCallEvent[] = [];
  const records: ModelCallRecord[] = [];
  const nowMs = (): number => clock.nowUs() / US_PER_MS;
  const at = (ms: number, run: () => void): void => {
    if (Number.isFinite(ms)) clock.at(Math.round(ms * US_PER_MS), run);
  };
  const fake = (async (input: unknown, init: RequestInit = {}) => {
    const hit: Hit = {
      url: new URL(String(input)),
      headers: new Headers(init.headers),
      body: textOf(init.body),
      atMs: nowMs(),
      cancelledMs: undefined,
      endedMs: undefined,
    };
    hits.push(hit);
    return await play({ clock, nowMs, at }, script(hit, hits.length - 1), hit, init.signal);
  }) as typeof fetch;
  const manx: FetchWorld["manx"] = (options = {}) => {
    return modelFetch({
      fetch: fake,
      clock,
      random: new Random(seed, "model calls"),
      observe: (event) => {
        events.push(event);
        if (event.type === "call-end") records.push(event.record);
      },
      ...options,
    });
  };
  return { clock, hits, events, records, nowMs, at, fetch: fake, manx };
}

function textOf(body: RequestInit["body"]): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body ?? "");
}

type Times = Pick<FetchWorld, "clock" | "nowMs" | "at">;

async function play(
  times: Times,
  script: FetchScript,
  hit: Hit,
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  const { nowMs, at } = times;
  const { headMs = 5, rejects, status = 200, headers, ignoresSignal = false } = script;
  await new Promise<void>((resolve, reject) => {
    at(hit.atMs + headMs, resolve);
    const onAbort = (): void => {
      hit.cancelledMs ??= nowMs();
      if (!ignoresSignal) reject(signal!.reason);
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort);
  });
  if (rejects !== undefined) {
    const cause = rejects === "" ? undefined : Object.assign(new Error("no"), { code: rejects });
    throw new TypeError("fetch failed", { cause });
  }
  return new Response(bodyOf(times, script, hit, signal), {
    status,
    headers: { "content-type": "text/event-stream", ...headers },
  });
}

function bodyOf(
  { nowMs, at }: Times,
  { chunks = [], end, ignoresSignal }: FetchScript,
  hit: Hit,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  const last = chunks.at(-1)?.[0] ?? 0;
  const { atMs, how } = end ?? { atMs: last, how: "close" };
  return new ReadableStream({
    start(controller) {
      const isOver = (): boolean => hit.endedMs !== undefined;
      const finish = (run: () => void): void => {
        if (isOver()) return;
        hit.endedMs = nowMs();
        run();
      };
      for (const [chunkMs, text] of chunks) {
        at(Math.max(nowMs(), hit.atMs + chunkMs), () => {
          if (!isOver()) controller.enqueue(bytesOf(text));
        });
      }
      if (how !== "hang") {
        at(Math.max(nowMs(), hit.atMs + atMs), () => {
          const error = Object.assign(new TypeError("terminated"), {
            cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
          });
          finish(() => (how === "close" ? controller.close() : controller.error(error)));
        });
      }
      if (ignoresSignal !== true) {
        signal?.addEventListener("abort", () => {
          finish(() => controller.error(signal.reason));
        });
      }
    },
    cancel() {
      hit.cancelledMs ??= nowMs();
      hit.endedMs ??= nowMs();
    },
  });
}

/** A chat stream: role, then a piece of text at each time, finish and `[DONE]` with the last. */
export function chatScript(...textMs: readonly number[]): FetchScript {
  const last = textMs.at(-1) ?? 0;
  return {
    chunks: [
      [5, chatWire(delta({ role: "assistant", content: "" }))],
      ...textMs.map((ms, at) => [ms, chatWire(delta({ content: `w${at} ` }))] as const),
      [last, chatWire(delta({}, "stop"), "[DONE]")],
    ],
  };
}

/** A refusal with a JSON body. */
export function refusal(status: number, headers: Record<string, string> = {}): FetchScript {
  const body = JSON.stringify({ error: { message: "no", type: "x", code: "no" } });
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    chunks: [[5, body]],
  };
}

export const CHAT_URL = "https://api.example.com/v1/chat/completions";

export function chatBody(more: object = {}): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer caller-key" },
    body: JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
      ...more,
    }),
  };
}

/** What the caller of one call has seen. */
export interface Seen {
  response: Response | undefined;
  rejected: unknown;
  text: string;
  /** The body has ended with this; undefined if well, or not yet. */
  broke: unknown;
  settledMs: number | undefined;
  endedMs: number | undefined;
}

/** Calls now, and reads all of it as fast as it comes. */
export function call(
  world: FetchWorld,
  run: (...args: Parameters<typeof fetch>) => Promise<Response>,
  init: RequestInit = chatBody(),
  url: Parameters<typeof fetch>[0] = CHAT_URL,
): Seen {
  const seen: Seen = {
    ...{ response: undefined, rejected: undefined, text: "", broke: undefined },
    ...{ settledMs: undefined, endedMs: undefined },
  };
  const read = async (): Promise<void> => {
    try {
      seen.response = await run(url, init);
    } catch (thrown) {
      seen.rejected = thrown;
    }
    seen.settledMs = world.nowMs();
    const decoder = new TextDecoder();
    try {
      for await (const chunk of seen.response?.body ?? []) seen.text += decoder.decode(chunk);
    } catch (thrown) {
      seen.broke = thrown;
    }
    seen.endedMs = world.nowMs();
  };
  void read();
  return seen;
}
