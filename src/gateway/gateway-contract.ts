/** What a running gateway offers, and what it may be given. */
import type { Clock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import type { ConfigDiff, GatewayConfig } from "./config/index.ts";
import type { DrainedPlace } from "./drained-places.ts";
import type { Fleet, MetricsPage } from "./fleet.ts";
import type { GatewayReport } from "./gateway-report.ts";
import type { BudgetLedger, BudgetStore } from "./keys/index.ts";
import type { LimitsInEffect } from "./limits.ts";
import type { Rehearsal } from "./rehearsal/rehearsal.ts";
import type { SharedFacts } from "./shared-state/index.ts";

export interface GatewayConnections {
  readonly open: number;
  readonly idle: number;
  /** Since the start. */
  readonly opened: number;
  readonly warmed: number;
  /** With a TLS session of an earlier connection. */
  readonly resumed: number;
  /** Over HTTP/2. */
  readonly multiplexed: number;
  readonly failed: number;
  /** Requests that found a connection open. */
  readonly reused: number;
}

export interface Gateway {
  /** Such as `http://127.0.0.1:4000`; what a client's base URL becomes. */
  readonly url: string;
  readonly limits: LimitsInEffect;
  /** Why an upstream could not be reached at the start, or null: the gateway runs all the same. */
  readonly warning: ManxError | null;
  /** The calls that it made to itself before it listened; null if it was to make none. */
  readonly rehearsal: Rehearsal | null;
  /** Requests that are open now. */
  inFlight(): number;
  connections(): GatewayConnections;
  /** What is shared with other gateways, and how that goes; null if nothing is. */
  shared(): SharedFacts | null;
  /** How it is, for its operators. */
  report(): GatewayReport;
  /** No new request goes there, over reloads too. @throws MANX_NAME_UNKNOWN */
  drain(place: DrainedPlace): void;
  /** @throws MANX_NAME_UNKNOWN */
  resume(place: DrainedPlace): void;
  /** Where operators reach it, if they can. */
  readonly adminUrl: string | null;
  /** What it runs by now. */
  readonly config: GatewayConfig;
  /** What /metrics answers. */
  metricsText(): Promise<string>;
  /** @param accept header of the scraper, for OpenMetrics. */
  metricsPage(accept?: string): Promise<MetricsPage>;
  /**
   * Runs by another configuration from the next request on; streams that are open go on as they began.
   * @throws what `startConfigured` throws; then everything is as before.
   */
  reload(config: GatewayConfig): Promise<void>;
  /** Another configuration could not even be read: counted, for whoever watches reloads. */
  reloadFailed(): void;
  /**
   * `/ready` says no at once; new requests are taken for `limits.graceUs`, and then refused; open ones may end for
   * `limits.drainUs`, and are then cut with an error in band. A second call waits for the first.
   */
  close(): Promise<void>;
  /** Does not wait for open requests any longer: `close` is over within a second or so. */
  cut(): void;
}

/** What whoever starts a gateway may give it. */
export interface GatewayParts {
  readonly clock?: Clock;
  /** Told, while it runs, of what its operator should know and no request is the cause of. */
  readonly onNotice?: (notice: ManxError) => void;
  /** Longest that a request waits for the shared state. Default 20 ms. */
  readonly stateDeadlineUs?: number;
  /** Shares its port with no other worker process, whatever port that is. Default false. */
  readonly listensAlone?: boolean;
  /** The processes that it is one of. Default: it is alone. */
  readonly fleet?: Fleet;
  /** Where budgets are kept; default beside the file of keys. */
  readonly budgets?: (ledger: BudgetLedger) => BudgetStore;
  /** What operators may ask for: to run by the files as they are by now. Default: there are none. */
  readonly reload?: () => Promise<ConfigDiff>;
}
