/** Puts the gateway together: one upstream, its pool, the front, the metrics; and takes it down without cutting streams. */
import { type Clock, realClock } from "../clock/index.ts";
import { type ManxError, US_PER_S } from "../core/index.ts";
import { close, listen } from "../http/index.ts";
import type { CallPolicy } from "../policy/index.ts";
import { Front } from "./front.ts";
import { completeLimits, type GatewayLimits } from "./limits.ts";
import { GatewayMetrics } from "./metrics.ts";
import { ModelRoutes, type Upstream } from "./model-routes.ts";
import { routeToAll } from "./route-to-all.ts";
import { downError } from "./upstream-fault.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import { parseUpstream } from "./upstream-url.ts";
import { WarmKeeper } from "./warm-keeper.ts";

export interface GatewayOptions {
  /** Where every request goes, such as `https://api.openai.com` or `http://127.0.0.1:8000`. */
  readonly upstream: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly clock?: Clock;
  readonly limits?: Partial<GatewayLimits>;
  /** How calls are retried, hedged and given up; what is left out is as in `CALL_POLICY`. */
  readonly policy?: Partial<CallPolicy>;
  /** Upstream connections that are opened at the start and kept open. Default 4, at most `limits.connections`. */
  readonly preconnect?: number;
}

export interface GatewayConnections {
  readonly open: number;
  readonly idle: number;
  /** Since the start. */
  readonly opened: number;
  readonly warmed: number;
  readonly failed: number;
  /** Requests that found a connection open. */
  readonly reused: number;
}

export interface Gateway {
  /** Such as `http://127.0.0.1:4000`; what a client's base URL becomes. */
  readonly url: string;
  readonly limits: GatewayLimits;
  /** Why the upstream could not be reached at the start, or null: the gateway runs all the same. */
  readonly warning: ManxError | null;
  /** Requests that are open now. */
  inFlight(): number;
  connections(): GatewayConnections;
  /** What /metrics answers. */
  metricsText(): Promise<string>;
  /** Takes no new work, lets open requests end for `limits.drainUs`, then cuts them with an error in band. */
  close(): Promise<void>;
}

export const PRECONNECT_DEFAULT = 4;
/** For clients to read the error that ends their stream when the gateway goes. */
const READ_ERROR_US = US_PER_S;
/** Tells the gateways of one process apart. */
let gatewaysMade = 0;

/** @throws MANX_URL, MANX_FLAG_VALUE, MANX_PORT_IN_USE, MANX_ADDRESS */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { origin, prefix } = parseUpstream(options.upstream);
  const limits = completeLimits(options.limits ?? {});
  const clock = options.clock ?? realClock;
  const pool = new UpstreamPool(origin, limits, clock);
  const upstream: Upstream = { name: "upstream", pool, prefix, credentials: null };
  const routes = new ModelRoutes([routeToAll(upstream, limits, options.policy ?? {})]);
  const metrics = new GatewayMetrics(pool);
  gatewaysMade += 1;
  // Differs between processes and machines well enough to find a circle: the instant in µs of one of them.
  const via = `manx-${clock.nowUs().toString(36)}-${gatewaysMade}`;
  const front = new Front({ routes, upstreams: [upstream], limits, clock, metrics, via });
  const url = await listen(front.server, {
    port: options.port ?? 0,
    ...(options.host !== undefined && { host: options.host }),
  });
  const keeper = new WarmKeeper(pool, clock, options.preconnect ?? PRECONNECT_DEFAULT);
  const cause = await keeper.fill();
  return {
    url,
    limits,
    warning: cause === null ? null : downError(cause, origin.origin),
    inFlight: () => metrics.inFlight,
    connections: () => ({ open: pool.open, idle: pool.idle, ...pool.counts }),
    metricsText: () => metrics.text(),
    close: async () => {
      keeper.stop();
      const closed = close(front.server);
      const cutUs = clock.nowUs() + limits.drainUs;
      const cancels = [
        clock.at(cutUs, () => front.cutAll()),
        // Whoever does not even read its error is not waited for.
        clock.at(cutUs + READ_ERROR_US, () => front.server.closeAllConnections()),
      ];
      await front.drain();
      await closed;
      for (const cancel of cancels) cancel();
      pool.close();
    },
  };
}
