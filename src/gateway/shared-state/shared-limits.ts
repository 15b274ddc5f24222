/**
 * Limits that several gateways keep together, in one round trip for each request: a tenant's tokens a minute, and its
 * requests in flight as leases that lapse when the gateway that holds them is gone. Without an answer in time the gateway
 * goes by its own share (`LocalShare`), counts that, and comes back by itself.
 *
 * Bound while the store answers: never more in flight over all gateways than the limit, and in any window of W seconds at
 * most burst + rate · W + one request's tokens. Two cases go beyond it, and each ends by itself: a gateway that could not
 * renew its leases for as long as they last, and the change to local shares (see there).
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { LocalShare, type SharedLimit } from "./local-share.ts";
import { ACQUIRE, PRESENT, RELEASE, RENEW } from "./state-scripts.ts";
import type { Reply, StateStore } from "./state-store.ts";

/** A lease lasts this long without being renewed, and so does the word of a gateway that it is there. */
const LEASE_US = 30 * US_PER_S;
const RENEW_US = 5 * US_PER_S;
/** Leases named in one command. */
const RENEW_MAX = 1_000;
/** A tenant whose places are all taken is asked again after this; nobody knows when one of them ends. */
const PLACE_POLL_US = 200 * US_PER_MS;

export interface Claim {
  readonly tenant: string;
  readonly limit: SharedLimit;
  /** Prompt and predicted answer. */
  readonly tokens: number;
}

export interface Lease {
  readonly id: string;
  readonly claim: Claim;
  /** Granted by the store, not by this gateway's own share. */
  readonly isShared: boolean;
}

export type Grant =
  | { readonly kind: "granted"; readonly lease: Lease }
  | {
      readonly kind: "denied";
      readonly reason: "rate" | "concurrency";
      /** When to ask again. */
      readonly retryAfterUs: number;
      readonly isShared: boolean;
    };

export interface SharedLimitsFacts {
  readonly gateways: number;
  /** Leases held. */
  readonly held: number;
  readonly granted: { readonly shared: number; readonly local: number };
  readonly denied: { readonly shared: number; readonly local: number };
  /** Grants that came too late and were given back. */
  readonly late: number;
}

export interface SharedLimitsOptions {
  readonly clock: Clock;
  readonly store: StateStore;
  /** Unlike any other gateway's, also after a restart. */
  readonly gatewayId: string;
  /** Gateways to expect as long as the store has not been asked. Default 1. */
  readonly gatewaysExpected?: number;
}

export class SharedLimits {
  readonly #clock: Clock;
  readonly #store: StateStore;
  readonly #gatewayId: string;
  readonly #local: LocalShare;
  readonly #held = new Map<string, Lease>();
  readonly #granted = { shared: 0, local: 0 };
  readonly #denied = { shared: 0, local: 0 };
  #late = 0;
  #leases = 0;
  #cancelRenewal: Cancel | undefined;

  constructor({ clock, store, gatewayId, gatewaysExpected = 1 }: SharedLimitsOptions) {
    this.#clock = clock;
    this.#store = store;
    this.#gatewayId = gatewayId;
    this.#local = new LocalShare(gatewaysExpected);
    store.onReady = () => this.#renew();
    this.#renewLater();
  }

  get facts(): SharedLimitsFacts {
    return {
      gateways: this.#local.gateways,
      held: this.#held.size,
      granted: { ...this.#granted },
      denied: { ...this.#denied },
      late: this.#late,
    };
  }

  /** May this start? Answers within the store's deadline, whatever state it is in. */
  async acquire(claim: Claim): Promise<Grant> {
    const { tenant, limit, tokens } = claim;
    if (!isLimited(limit)) return { kind: "granted", lease: { id: "", claim, isShared: false } };
    const id = this.#nextId();
    const reply = await this.#store.ask(
      ACQUIRE,
      keysOf(tenant),
      [usPerToken(limit), limit.burstTokens, tokens, placesOf(limit), id, LEASE_US],
      (late) => this.#giveBack(id, claim, late),
    );
    const answer = readAnswer(reply);
    if (answer === undefined) return this.#acquireLocally(claim);
    const [verdict, waitUs] = answer;
    if (verdict === 1) return this.#grant({ id, claim, isShared: true });
    this.#denied.shared += 1;
    return verdict === 0
      ? { kind: "denied", reason: "rate", retryAfterUs: waitUs, isShared: true }
      : { kind: "denied", reason: "concurrency", retryAfterUs: poll(waitUs), isShared: true };
  }

  /** It has ended. Does not wait for the store. @param tokens that it took in the end. */
  release(lease: Lease, tokens: number): void {
    const { id, claim, isShared } = lease;
    if (!this.#held.delete(id)) return;
    const { tenant, limit } = claim;
    const over = tokens - claim.tokens;
    this.#local.end(tenant, limit, over, isShared, this.#clock.nowUs());
    // What was granted locally was never taken from the common bucket, so all of it is taken now.
    this.#settle(id, claim, isShared ? over : tokens);
  }

  /** Gives up what it holds and says that it is leaving. Call once, when nothing is in flight any more. */
  async close(): Promise<void> {
    this.#cancelRenewal?.();
    for (const lease of [...this.#held.values()]) this.release(lease, lease.claim.tokens);
    await this.#store.tell(PRESENT, [GATEWAYS], [this.#gatewayId, 0]);
  }

  #acquireLocally(claim: Claim): Grant {
    const { tenant, limit } = claim;
    const waitUs = this.#local.waitUs(tenant, limit, this.#clock.nowUs());
    if (waitUs <= 0) return this.#grant({ id: this.#nextId(), claim, isShared: false });
    this.#denied.local += 1;
    return waitUs === Number.POSITIVE_INFINITY
      ? { kind: "denied", reason: "concurrency", retryAfterUs: PLACE_POLL_US, isShared: false }
      : { kind: "denied", reason: "rate", retryAfterUs: waitUs, isShared: false };
  }

  #grant(lease: Lease): Grant {
    const { tenant, limit, tokens } = lease.claim;
    this.#local.start(tenant, limit, tokens, lease.isShared, this.#clock.nowUs());
    this.#held.set(lease.id, lease);
    this.#granted[lease.isShared ? "shared" : "local"] += 1;
    return { kind: "granted", lease };
  }

  /** The caller has gone by its own share meanwhile. */
  #giveBack(id: string, claim: Claim, reply: Reply): void {
    if (readAnswer(reply)?.[0] !== 1) return;
    this.#late += 1;
    this.#settle(id, claim, -claim.tokens);
  }

  #settle(id: string, { tenant, limit }: Claim, tokens: number): void {
    void this.#store.tell(RELEASE, keysOf(tenant), [usPerToken(limit), tokens, id]);
  }

  #nextId(): string {
    this.#leases += 1;
    return `${this.#gatewayId}:${this.#leases}`;
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#clock.at(this.#clock.nowUs() + RENEW_US, () => {
      this.#renew();
      this.#renewLater();
    });
  }

  /** Says that this gateway is there, learns how many are, and keeps its leases alive. */
  #renew(): void {
    void this.#store.tell(PRESENT, [GATEWAYS], [this.#gatewayId, LEASE_US]).then((count) => {
      if (typeof count === "number") this.#local.gateways = count;
    });
    const byTenant = new Map<string, string[]>();
    for (const { id, claim } of this.#held.values()) {
      if (placesOf(claim.limit) === 0) continue;
      const ids = byTenant.get(claim.tenant) ?? [];
      byTenant.set(claim.tenant, ids);
      ids.push(id);
    }
    for (const [tenant, ids] of byTenant) {
      for (let from = 0; from < ids.length; from += RENEW_MAX) {
        const some = ids.slice(from, from + RENEW_MAX);
        void this.#store.tell(RENEW, [keysOf(tenant)[1]], [LEASE_US, ...some]);
      }
    }
  }
}

const GATEWAYS = "manx:gateways";

/** In braces, so that a cluster keeps both on one node. */
function keysOf(tenant: string): readonly [bucket: string, leases: string] {
  return [`manx:{${tenant}}:tokens`, `manx:{${tenant}}:leases`];
}

function isLimited(limit: SharedLimit): boolean {
  return usPerToken(limit) > 0 || placesOf(limit) > 0;
}

/** 0 for no rate. */
function usPerToken({ tokensPerMinute }: SharedLimit): number {
  return Number.isFinite(tokensPerMinute) ? (60 * US_PER_S) / tokensPerMinute : 0;
}

/** 0 for no limit. */
function placesOf({ concurrencyMax }: SharedLimit): number {
  return Number.isFinite(concurrencyMax) ? concurrencyMax : 0;
}

/** A lease lapses at `waitUs` at the latest, but mostly somebody ends before. */
function poll(waitUs: number): number {
  return Math.min(PLACE_POLL_US, Math.max(1, waitUs));
}

/** Undefined for what no script of ours answers. */
function readAnswer(
  reply: Reply | undefined,
): readonly [verdict: number, waitUs: number] | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [verdict, waitUs] = reply.map(Number);
  return Number.isFinite(verdict) && Number.isFinite(waitUs) ? [verdict!, waitUs!] : undefined;
}
