/**
 * A `fetch` on a pool of undici that keeps its connections and counts those that it opens. undici itself closes an idle
 * connection after 4 s, which is less than a user takes to read an answer; Node's own `fetch` has that setting and no way to
 * change it.
 */
import { Agent, fetch as undiciFetch } from "undici";
import { ManxError, US_PER_MS } from "../../core/index.ts";
import type { ProofFetch, TimeSpan } from "../../runtime/index.ts";
import { spanUs } from "../../runtime/time-span.ts";

export interface WarmPoolOptions {
  /** An idle connection is kept this long, unless the server names a shorter time. Default 120 s. */
  readonly keepAlive?: TimeSpan;
  /** To one origin. Default 64. */
  readonly connections?: number;
  /** For DNS, TCP and TLS. Default 10 s. */
  readonly connect?: TimeSpan;
}

export interface WarmPool {
  /** For connections opened ahead and for model calls alike: only what goes through the same pool finds them. */
  readonly fetch: typeof globalThis.fetch & ProofFetch;
  /** Connections opened so far, those that broke included. */
  readonly opened: () => number;
  /** Closes all connections when the requests under way are done. */
  close(): Promise<void>;
}

/** @throws MANX_DURATION, MANX_WARM_UP_INVALID */
export function warmPool(options: WarmPoolOptions = {}): WarmPool {
  const { connections = 64 } = options;
  if (!Number.isInteger(connections) || connections < 1) {
    throw new ManxError("MANX_WARM_UP_INVALID", {
      where: "connections",
      expected: "a whole number from 1",
      got: String(connections),
    });
  }
  // undici knows no 0.
  const keepAliveMs = Math.max(1, spanMs(options.keepAlive ?? "120s", "keepAlive"));
  let opened = 0;
  const agent = new Agent({
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: Math.max(keepAliveMs, 600_000),
    connect: { timeout: spanMs(options.connect ?? "10s", "connect") },
  });
  agent.on("connect", () => {
    opened += 1;
  });
  const fetch = (url: string | URL, init?: object) =>
    undiciFetch(url, { ...init, dispatcher: agent });
  return {
    fetch: fetch as unknown as WarmPool["fetch"],
    opened: () => opened,
    close: () => agent.close(),
  };
}

function spanMs(span: TimeSpan, where: string): number {
  return Math.ceil(spanUs(span, where) / US_PER_MS);
}
