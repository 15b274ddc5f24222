/** What an operator can ask of a gateway, be it one process or several. */
import type { ConfigDiff, GatewayConfig } from "../config/index.ts";
import type { DrainedPlace } from "../drained-places.ts";
import type { GatewayReport } from "../gateway-report.ts";

export interface Operations {
  /** In effect. */
  config(): GatewayConfig;
  state(): Promise<OperatorState>;
  /** @throws MANX_NAME_UNKNOWN */
  drain(place: DrainedPlace): Promise<void>;
  /** @throws MANX_NAME_UNKNOWN */
  resume(place: DrainedPlace): Promise<void>;
  /** @throws what is wrong with the new configuration; the old one goes on. */
  reload(): Promise<ConfigDiff>;
}

export interface OperatorState {
  readonly workers: readonly WorkerReport[];
  /** Workers that did not answer in time. */
  readonly unanswered: readonly number[];
}

export interface WorkerReport extends GatewayReport {
  /** 0 where there is one process alone. */
  readonly worker: number;
}
