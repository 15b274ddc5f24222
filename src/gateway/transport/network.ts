/**
 * What is known of the ways to upstreams, and outlives every pool: a reload that replaces a pool keeps addresses, TLS
 * sessions and idle limits. One for each gateway.
 */
import type { Clock } from "../../clock/index.ts";
import { DnsCache } from "./dns-cache.ts";
import { IdleLimit } from "./idle-limit.ts";
import type { NameService } from "./name-service.ts";
import { TicketCache } from "./ticket-cache.ts";

const ORIGINS_MAX = 1_024;

export class Network {
  readonly dns: DnsCache;
  readonly tickets = new TicketCache();
  readonly #idle = new Map<string, IdleLimit>();

  constructor(clock: Clock, names?: NameService) {
    this.dns = new DnsCache(clock, names);
  }

  close(): void {
    this.dns.close();
  }

  idleLimit(origin: string): IdleLimit {
    let limit = this.#idle.get(origin);
    if (limit === undefined) {
      if (this.#idle.size >= ORIGINS_MAX) this.#idle.delete(this.#idle.keys().next().value!);
      limit = new IdleLimit();
      this.#idle.set(origin, limit);
    }
    return limit;
  }
}
