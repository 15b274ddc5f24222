/**
 * One upstream of the configuration: its connections, the key for it, and, where it is several replicas, which of them gets
 * a request. Kept over a reload that does not change it, with its open connections.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../clock/index.ts";
import { lookUp, ManxError, US_PER_S } from "../core/index.ts";
import type { PlacedRequest, Placement, ReplicaOutcome } from "../policy/index.ts";
import type { UpstreamConfig } from "./config/index.ts";
import type { HeaderList } from "./headers.ts";
import { ReplicaSet, type ReplicaStatus } from "./replicas/index.ts";
import type { Network } from "./transport/network.ts";
import type { TlsTrust } from "./transport/ticket-cache.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import { parseUpstream } from "./upstream-url.ts";
import { WarmKeeper } from "./warm-keeper.ts";

/** Where an attempt goes. */
export interface Seat {
  readonly pool: UpstreamPool;
  /** Before each path. */
  readonly prefix: string;
  /** Of a replica; to be ended once. */
  readonly placement: Placement | undefined;
}

export interface UpstreamWays {
  readonly network: Network;
  readonly connectUs: number;
}

interface Place {
  readonly pool: UpstreamPool;
  readonly prefix: string;
  readonly keeper: WarmKeeper;
}

export class Upstream {
  readonly config: UpstreamConfig;
  /** The gateway's own key as headers; null: the caller's credentials are passed on. */
  readonly credentials: HeaderList | null;
  readonly #places: readonly Place[];
  readonly #replicas: ReplicaSet | undefined;
  /** Attempts that have a seat. */
  inFlight = 0;
  /** Places that an operator has taken out. */
  readonly #drained = new Set<number>();

  /**
   * @param ways what is known of the ways to upstreams; limit for connections that are opened ahead.
   * @throws MANX_URL, MANX_SECRET_MISSING, MANX_FILE_UNREADABLE
   */
  constructor(config: UpstreamConfig, { network, connectUs }: UpstreamWays, clock: Clock) {
    this.config = config;
    this.credentials = credentialsOf(config);
    const { connections, idleUs, preconnect, http2 } = config;
    const tls = trustOf(config);
    this.#places = config.urls.map((url) => {
      const { origin, prefix } = parseUpstream(url, `upstream ${config.name}`);
      const limits = { connections, connectUs, idleUs };
      const pool = new UpstreamPool({ origin, limits, clock, network, tls, http2 });
      return { pool, prefix, keeper: new WarmKeeper(pool, clock, preconnect) };
    });
    if (config.urls.length > 1) {
      const replicas = config.urls.map((url) => ({ url }));
      this.#replicas = new ReplicaSet({ replicas, clock });
    }
  }

  get name(): string {
    return this.config.name;
  }

  get pools(): readonly UpstreamPool[] {
    return this.#places.map(({ pool }) => pool);
  }

  /** It has a connection, and so perhaps a request. */
  get isOpen(): boolean {
    return this.pools.some(({ open }) => open > 0);
  }

  /** Whether `take` wants to know what the prompt begins with: that costs reading it. */
  get wantsPrefix(): boolean {
    return this.#replicas !== undefined && this.config.router === "prefix";
  }

  /** Opens connections ahead. @returns why they are not all open, or null. */
  async warm(): Promise<Error | null> {
    const causes = await Promise.all(this.#places.map(({ keeper }) => keeper.fill()));
    return causes.find((cause) => cause !== null) ?? null;
  }

  /** @returns undefined if no replica may be asked now. */
  take(request: PlacedRequest): Seat | undefined {
    if (this.isDrained) return undefined;
    if (this.#replicas === undefined) {
      const { pool, prefix } = this.#places[0]!;
      this.inFlight += 1;
      return { pool, prefix, placement: undefined };
    }
    const placement = this.#replicas.pick(request);
    if (placement === undefined) return undefined;
    const { pool, prefix } = this.#places[placement.replica]!;
    this.inFlight += 1;
    return { pool, prefix, placement };
  }

  firstOutput({ placement }: Seat): void {
    if (placement !== undefined) this.#replicas!.firstOutput(placement);
  }

  end({ placement }: Seat, outcome: ReplicaOutcome): void {
    this.inFlight -= 1;
    if (placement !== undefined) this.#replicas!.end(placement, outcome);
  }

  /** When a replica may be back, if `take` gave none; undefined if there are none. */
  get retryAfterUs(): number | undefined {
    return this.#replicas?.retryAfterUs();
  }

  /** undefined for an upstream of one place. */
  get replicas(): readonly ReplicaStatus[] | undefined {
    return this.#replicas?.snapshot().replicas;
  }

  /** Whether none of its addresses may be asked. */
  get isDrained(): boolean {
    return this.#drained.size === this.#places.length;
  }

  /**
   * No new request goes there; those that it has go on.
   * @param url null: to none of its addresses.
   * @throws MANX_NAME_UNKNOWN
   */
  drain(url: string | null): void {
    for (const at of this.#placesAt(url)) {
      this.#drained.add(at);
      this.#replicas?.drain(this.#replicas.urls[at]!);
    }
  }

  /** @throws MANX_NAME_UNKNOWN */
  resume(url: string | null): void {
    for (const at of this.#placesAt(url)) {
      this.#drained.delete(at);
      this.#replicas?.resume(this.#replicas.urls[at]!);
    }
  }

  #placesAt(url: string | null): readonly number[] {
    const all = this.#places.map((_, at) => at);
    if (url === null) return all;
    const addresses = this.#places.map(({ pool, prefix }) => `${pool.origin.origin}${prefix}`);
    const { origin, prefix } = parseUpstream(url, "url");
    const table = Object.fromEntries(addresses.map((address, at) => [address, at]));
    return [lookUp(table, `${origin.origin}${prefix}`, "address of the upstream")];
  }

  /** For health pages: never a key. */
  shown(): object {
    const { name, format } = this.config;
    const connections = this.#places.map(({ pool }) => {
      const { origin, open, idle, idleState, counts } = pool;
      const { limitUs, source } = idleState;
      return {
        origin: origin.origin,
        open,
        idle,
        idleLimitS: Number.isFinite(limitUs) ? limitUs / US_PER_S : null,
        idleLimitFrom: source,
        counts,
      };
    });
    const { isDrained } = this;
    return { name, format, isDrained, connections, replicas: this.replicas };
  }

  /** No new requests; those that are open go on. */
  retire(): void {
    for (const { keeper, pool } of this.#places) {
      keeper.stop();
      pool.retire();
    }
    void this.#replicas?.stop();
  }

  async close(): Promise<void> {
    for (const { keeper, pool } of this.#places) {
      keeper.stop();
      pool.close();
    }
    await this.#replicas?.stop();
  }
}

function credentialsOf({ key, authHeader }: UpstreamConfig): HeaderList | null {
  if (key === null) return null;
  return authHeader === "bearer"
    ? ["authorization", `Bearer ${key.reveal()}`]
    : [authHeader, key.reveal()];
}

function trustOf({ tls, name }: UpstreamConfig): TlsTrust {
  const { caPath, serverName } = tls;
  return {
    ...(caPath !== null && { ca: readAuthorities(caPath, name) }),
    ...(serverName !== null && { servername: serverName }),
  };
}

function readAuthorities(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const where = `upstreams.${name}.tls.ca ${path}`;
    throw new ManxError("MANX_FILE_UNREADABLE", { where, got: code ?? "an error", cause });
  }
}
