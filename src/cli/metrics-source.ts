/**
 * Looks at an engine's /metrics: files as they were saved, or a URL looked at again and again. The interval between two looks
 * is measured where it can be, and given where it cannot.
 */
import { ManxError, US_PER_S } from "../core/index.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";

export interface MetricsLook {
  readonly text: string;
  readonly where: string;
  /** Only of a URL. */
  readonly atUs: number | undefined;
}

export interface LookOptions {
  readonly sources: readonly string[];
  readonly intervalUs: number;
  /** Of a URL. */
  readonly intervals: number;
  readonly onWait: (text: string, share: number) => void;
}

const PAGE_BYTES_MAX = 32 * 1024 * 1024;
const ANSWER_US_MAX = 10 * US_PER_S;

/** @throws MANX_FLAG_VALUE, MANX_URL, MANX_FILE_UNREADABLE, MANX_TARGET_DOWN */
export async function lookAtMetrics(options: LookOptions, io: Io): Promise<MetricsLook[]> {
  const { sources } = options;
  const isUrl = sources.map((source) => /^https?:/i.test(source));
  if (!isUrl.includes(true)) {
    const looks: MetricsLook[] = [];
    for (const path of sources) {
      looks.push({ text: await readInput(path, PAGE_BYTES_MAX), where: path, atUs: undefined });
    }
    return looks;
  }
  if (sources.length > 1) {
    throw new ManxError("MANX_FLAG_VALUE", {
      where: "--metrics",
      expected: "one URL, or files in order of time",
      got: sources.length === 2 ? "both" : `${sources.length} of them`,
    });
  }
  return lookAgain(pageUrl(sources[0]!, "--metrics"), options, io);
}

async function lookAgain(url: URL, options: LookOptions, io: Io): Promise<MetricsLook[]> {
  const looks: MetricsLook[] = [];
  const beginUs = io.clock.nowUs();
  for (let look = 0; look <= options.intervals; look += 1) {
    const dueUs = beginUs + look * options.intervalUs;
    await waitUntil(dueUs, io, (leftUs) => {
      const text = `look ${look + 1} of ${options.intervals + 1} in ${Math.ceil(leftUs / US_PER_S)} s`;
      options.onWait(text, look / (options.intervals + 1));
    });
    const atUs = io.clock.nowUs();
    looks.push({ text: await fetchPage(url, io), where: shown(url), atUs });
  }
  return looks;
}

async function waitUntil(dueUs: number, io: Io, tell: (leftUs: number) => void): Promise<void> {
  for (let nowUs = io.clock.nowUs(); nowUs < dueUs; nowUs = io.clock.nowUs()) {
    tell(dueUs - nowUs);
    try {
      await io.clock.sleepUntil(Math.min(dueUs, nowUs + US_PER_S), io.interrupt);
    } catch {
      throw new ManxError("MANX_INTERRUPTED", {
        what: "interrupted before the metrics were looked at often enough; nothing is saved",
      });
    }
  }
}

/** `http://host:8000` means its /metrics. @throws MANX_URL */
export function pageUrl(text: string, where: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) {
    throw new ManxError("MANX_URL", { where, got: JSON.stringify(text) });
  }
  if (url.pathname === "/") url.pathname = "/metrics";
  return url;
}

/** Without what may be a secret. */
function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** @param what to say if it cannot be had. @throws MANX_TARGET_DOWN */
export async function fetchPage(
  url: URL,
  io: Io,
  what = "the engine's metrics cannot be fetched",
): Promise<string> {
  const { signal, cancel } = io.clock.deadline(io.clock.nowUs() + ANSWER_US_MAX);
  try {
    const headers = new Headers({ accept: "text/plain" });
    if (url.username !== "" || url.password !== "") {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    }
    const bare = new URL(url);
    bare.username = "";
    bare.password = "";
    const response = await fetch(bare, { signal, headers, redirect: "error" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await boundedText(response);
  } catch (cause) {
    const { message, cause: inner } = cause as Error & { cause?: NodeJS.ErrnoException };
    throw new ManxError("MANX_TARGET_DOWN", {
      what,
      where: shown(url),
      got: inner?.code ?? message,
      cause,
    });
  } finally {
    cancel();
  }
}

async function boundedText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += (piece as Uint8Array).length;
    if (bytes > PAGE_BYTES_MAX) throw new Error(`a page of more than ${PAGE_BYTES_MAX} bytes`);
    pieces.push(piece as Uint8Array);
  }
  return Buffer.concat(pieces).toString("utf8");
}
