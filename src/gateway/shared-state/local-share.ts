/**
 * What one gateway may do while the shared state does not answer: the limits divided by the gateways that were there when
 * it last did. Kept up in good times too: what the store grants is taken out of the share's credit, though never below
 * none, so that an outage hands out no second burst.
 *
 * Bound while all gateways are on their own: each tenant's rate and burst as configured, and its places as configured, or
 * one for each gateway if those are more. In the moment of the change, those that one gateway holds beyond its share come
 * on top until they end.
 */
import { type TenantLimits, TokenBucket } from "../../policy/index.ts";

/** Tenants remembered without anything in flight; the one used longest ago is forgotten. */
const IDLE_MAX = 4_096;

export type SharedLimit = Pick<TenantLimits, "concurrencyMax" | "tokensPerMinute" | "burstTokens">;

interface Share {
  bucket: TokenBucket | undefined;
  /** How many gateways the bucket was divided by. */
  gateways: number;
  inFlight: number;
}

export class LocalShare {
  /** In the order of last use. */
  readonly #shares = new Map<string, Share>();
  #gateways: number;

  /** @param gateways expected to be there as long as nobody has counted. */
  constructor(gateways: number) {
    this.#gateways = gateways;
  }

  get gateways(): number {
    return this.#gateways;
  }

  set gateways(counted: number) {
    this.#gateways = Math.max(1, counted);
  }

  get tenants(): number {
    return this.#shares.size;
  }

  /** 0 if it may start now, otherwise µs until its rate lets it; Infinity for when one of its own ends. */
  waitUs(tenant: string, limit: SharedLimit, nowUs: number): number {
    const share = this.#shareOf(tenant, limit);
    const places = Math.max(1, Math.floor(limit.concurrencyMax / this.#gateways));
    if (share.inFlight >= places) return Number.POSITIVE_INFINITY;
    return (share.bucket?.readyUs(nowUs) ?? nowUs) - nowUs;
  }

  /** It starts. @param isGranted by the store, which has counted the tokens. */
  start(
    tenant: string,
    limit: SharedLimit,
    tokens: number,
    isGranted: boolean,
    nowUs: number,
  ): void {
    const share = this.#shareOf(tenant, limit);
    share.inFlight += 1;
    const { bucket } = share;
    if (bucket === undefined) return;
    const credit = Math.max(0, bucket.level(nowUs) - 1);
    bucket.take(isGranted ? Math.min(tokens, credit) : tokens, nowUs);
  }

  /** It has ended. @param tokens beyond those taken at the start; negative if fewer. */
  end(
    tenant: string,
    limit: SharedLimit,
    tokens: number,
    wasGranted: boolean,
    nowUs: number,
  ): void {
    const share = this.#shareOf(tenant, limit);
    share.inFlight = Math.max(0, share.inFlight - 1);
    if (!wasGranted) share.bucket?.settle(tokens, nowUs);
  }

  #shareOf(tenant: string, limit: SharedLimit): Share {
    let share = this.#shares.get(tenant);
    if (share === undefined) {
      if (this.#shares.size >= IDLE_MAX) this.#forget();
      share = { bucket: undefined, gateways: 0, inFlight: 0 };
    } else this.#shares.delete(tenant);
    this.#shares.set(tenant, share);
    if (share.gateways !== this.#gateways) {
      share.bucket = this.#bucket(limit);
      share.gateways = this.#gateways;
    }
    return share;
  }

  #bucket({ tokensPerMinute, burstTokens }: SharedLimit): TokenBucket | undefined {
    if (!Number.isFinite(tokensPerMinute)) return undefined;
    const burst = Math.max(1, burstTokens / this.#gateways);
    return new TokenBucket(tokensPerMinute / 60 / this.#gateways, burst);
  }

  /** Those with something in flight are bounded by the gateway's own limit, so the search is short. */
  #forget(): void {
    for (const [name, share] of this.#shares) {
      if (share.inFlight > 0) continue;
      this.#shares.delete(name);
      return;
    }
  }
}
