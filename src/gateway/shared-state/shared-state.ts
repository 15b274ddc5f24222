/** What gateways share: one connection, the limits and the breakers over it. */
import { hostname } from "node:os";
import { type Clock, realClock } from "../../clock/index.ts";
import { SharedBreakers } from "./shared-breakers.ts";
import { SharedLimits, type SharedLimitsFacts } from "./shared-limits.ts";
import { StateStore, type StateStoreFacts } from "./state-store.ts";
import { parseStateUrl } from "./state-url.ts";

export interface SharedStateOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss:` for TLS. Valkey is reached alike. */
  readonly url: string;
  readonly clock?: Clock;
  /** Longest that a request waits for an answer, µs. Default 20 ms. */
  readonly deadlineUs?: number;
  /** Unlike any other gateway's. Default host, process and time of start. */
  readonly gatewayId?: string;
  /** Gateways to expect as long as the store has not been asked. Default 1. */
  readonly gatewaysExpected?: number;
}

export interface SharedStateFacts {
  /** Host and port. */
  readonly place: string;
  readonly store: StateStoreFacts;
  readonly limits: SharedLimitsFacts;
}

export class SharedState {
  readonly limits: SharedLimits;
  readonly breakers: SharedBreakers;
  readonly #place: string;
  readonly #store: StateStore;

  /** Does not wait for the connection: a store that is away is one that comes back. @throws MANX_URL */
  static async open(options: SharedStateOptions): Promise<SharedState> {
    const { clock = realClock, deadlineUs, gatewaysExpected } = options;
    const url = parseStateUrl(options.url);
    const store = await StateStore.open(url, clock, deadlineUs);
    const ownId = `${hostname()}:${process.pid}:${clock.wallMs().toString(36)}`;
    const gatewayId = options.gatewayId ?? ownId;
    const limits = new SharedLimits({
      clock,
      store,
      gatewayId,
      ...(gatewaysExpected !== undefined && { gatewaysExpected }),
    });
    return new SharedState(url.place, store, limits);
  }

  private constructor(place: string, store: StateStore, limits: SharedLimits) {
    this.#place = place;
    this.#store = store;
    this.limits = limits;
    this.breakers = new SharedBreakers(store);
  }

  get facts(): SharedStateFacts {
    return { place: this.#place, store: this.#store.facts, limits: this.limits.facts };
  }

  /** Leaves no timer and no socket. */
  async close(): Promise<void> {
    await this.limits.close();
    this.#store.close();
  }
}
