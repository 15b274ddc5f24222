/**
 * Connections that are open before the first call, and shown to be. A HEAD leaves nothing behind, since undici closes the
 * connection after one, and a socket that was opened may be closed again after 4 s; so whole answers are read, and then as
 * many requests are sent once more, which may open no new connection.
 */
import { ManxError } from "../../core/index.ts";
import type { Deadline } from "../deadline.ts";
import type { WarmItem } from "./warm-item.ts";
import { WARM_UP_HEADERS } from "./warm-up.ts";

/** As much of `fetch` as is used here. */
export type ProofFetch = (
  url: string,
  init: { method: "GET"; headers: Record<string, string>; signal: AbortSignal },
) => Promise<{ readonly status: number; arrayBuffer(): Promise<unknown> }>;

export interface ConnectionOptions {
  /** Connections to open; requests of the first second side by side. Default 1. */
  readonly count?: number;
  /** For the requests, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Connections that `fetch` has opened so far (`warmPool` of `manx/warm-start` counts them). Without it nobody can see
   * whether one was used again, and the value says so.
   */
  readonly opened?: () => number;
}

export interface WarmConnections {
  /** Of the last answer. Any will do: also a 401 comes over a connection. */
  readonly status: number;
  readonly opened: number | null;
  /** Requests of the proof that came over a connection that was open; null if nobody can see that. */
  reused: number | null;
}

const COUNT_MAX = 256;
/** undici gives a connection back a moment after the answer's last byte was read. */
const SETTLE_US = 5_000;

/**
 * An item of a warm-up. Give it `lives` and `refreshEvery` below the time after which either end closes idle connections.
 * @param url something small that is answered without side effects, such as `/v1/models`.
 * @throws MANX_WARM_UP_INVALID
 */
export function connectionProof(
  fetch: ProofFetch,
  url: string,
  { count = 1, headers = {}, opened }: ConnectionOptions = {},
): WarmItem {
  if (!Number.isInteger(count) || count < 1 || count > COUNT_MAX) {
    throw new ManxError("MANX_WARM_UP_INVALID", {
      where: "connections",
      expected: `a count from 1 to ${COUNT_MAX}`,
      got: String(count),
    });
  }
  const ask = async ({ signal }: Deadline): Promise<number> => {
    const response = await fetch(url, {
      method: "GET",
      headers: { ...headers, ...WARM_UP_HEADERS },
      signal,
    });
    // A body that is not read holds its connection.
    await response.arrayBuffer();
    return response.status;
  };
  const askAll = async (deadline: Deadline): Promise<number[]> => {
    const statuses = await Promise.all(Array.from({ length: count }, () => ask(deadline)));
    const { clock, signal } = deadline;
    await clock.sleepUntil(clock.nowUs() + SETTLE_US, signal);
    return statuses;
  };
  return {
    serves: "prefill",
    run: async (_inputs, deadline): Promise<WarmConnections> => {
      const before = opened?.();
      const statuses = await askAll(deadline);
      const now = opened?.();
      return {
        status: statuses.at(-1)!,
        opened: before === undefined || now === undefined ? null : now - before,
        reused: null,
      };
    },
    proof: async (value: WarmConnections, deadline) => {
      const before = opened?.();
      await askAll(deadline);
      const now = opened?.();
      if (before === undefined || now === undefined) return;
      value.reused = count - (now - before);
      if (value.reused === count) return;
      throw new ManxError("MANX_WARM_UP_INVALID", {
        what: "connections that were opened are not used again",
        where: new URL(url).origin,
        expected: `${count} used again`,
        got: `${value.reused}`,
        hint: "the server closes them, or the pool is smaller than count: see docs/how-to/warm-up.md",
      });
    },
  };
}
