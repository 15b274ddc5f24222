/**
 * A classifier over HTTP, asked through `fetch`: `POST {"input": text}` with `x-manx-guard-stage`, answered in one of the
 * forms of `readVerdict`. If it answers with `server-timing`, its own queue, load and decode times are told apart from the
 * network's.
 */
import { type Clock, realClock } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import { readVerdict } from "../../policy/guard/index.ts";
import {
  type Rail,
  type RailAnswer,
  type RailContext,
  type RailOptions,
  type RailParts,
  rail,
} from "./rail.ts";

export interface HttpRailOptions extends RailOptions {
  readonly url: string | URL;
  /** Made for each check, so that a secret is fetched when it is needed and shown nowhere. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Default: the host's. */
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
  readonly clock?: Clock;
}

/** A longer text is none that a classifier would read. */
const TEXT_CHARS_MAX = 1024 * 1024;
const ANSWER_CHARS_MAX = 64 * 1024;

/** @throws MANX_RAIL_INVALID */
export function httpRail(options: HttpRailOptions): Rail {
  const { url: given, headers, clock = realClock } = options;
  const where = `rail ${JSON.stringify(options.name)}`;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new ManxError("MANX_RAIL_INVALID", { where, expected: "an http or https URL" });
  }
  const url = new URL(given);
  const send = options.fetch ?? ((to: URL, init: RequestInit) => fetch(to, init));
  const check = async (text: string, { signal, stage }: RailContext): Promise<RailAnswer> => {
    if (text.length > TEXT_CHARS_MAX) return { verdict: "failed" };
    const startUs = clock.nowUs();
    const response = await send(url, {
      method: "POST",
      headers: {
        ...headers?.(),
        "content-type": "application/json",
        "x-manx-guard-stage": stage,
      },
      body: JSON.stringify({ input: text }),
      // Text and credentials go where they were meant to, and nowhere else.
      redirect: "error",
      signal,
    });
    const body = await readBounded(response);
    const parts = partsOf(response.headers.get("server-timing"), clock.nowUs() - startUs);
    const isVerdict = response.status === 200 && body !== undefined;
    return { verdict: isVerdict ? readVerdict(body) : "failed", parts };
  };
  return rail({ ...options, check });
}

/** @returns undefined for more than a verdict could be. */
async function readBounded({ body }: Response): Promise<string | undefined> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length <= ANSWER_CHARS_MAX) continue;
    await reader.cancel();
    return undefined;
  }
}

const TIMED = /^\s*(queue|load|decode)\s*;[^,]*?\bdur\s*=\s*"?(\d{1,9}(?:\.\d{1,6})?)/i;

/** @returns what the server says of itself, and the rest as the network's. */
function partsOf(timing: string | null, tookUs: number): RailParts {
  const own: Record<string, number> = {};
  for (const entry of (timing ?? "").slice(0, 1_000).split(",")) {
    const [, name, ms] = TIMED.exec(entry) ?? [];
    if (name !== undefined) own[name.toLowerCase()] = Math.round(Number(ms) * 1_000);
  }
  const { queue, load, decode } = own;
  const told = (queue ?? 0) + (load ?? 0) + (decode ?? 0);
  // A clock that cannot be right says nothing.
  if (told === 0 || told > tookUs) return {};
  return {
    networkUs: tookUs - told,
    ...(queue !== undefined && { queueUs: queue }),
    ...(load !== undefined && { loadUs: load }),
    ...(decode !== undefined && { decodeUs: decode }),
  };
}
