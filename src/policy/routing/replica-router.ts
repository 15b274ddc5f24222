/**
 * Routes requests over the replicas of one upstream: `BalancedAffinity` decides, from the load (`LoadBook`), the health
 * (`ReplicaHealth`) and the speed (`SlowWatch`) that this object is told of. It asks nobody and waits for nothing, so that
 * the same router runs behind live engines and in simulated time.
 *
 *     pick ──▶ Placement ──firstOutput──▶ ──end(outcome)──▶      report, probed, drain: from outside, at any time
 *
 * Invariants: an ejected or draining replica is never picked; a placement counts until its end, and once.
 */
import { assert } from "../../core/index.ts";
import {
  BalancedAffinity,
  type BalancedAffinityOptions,
  type Standing,
} from "./balanced-affinity.ts";
import { type EngineReport, LoadBook } from "./load-book.ts";
import { Placement } from "./placement.ts";
import {
  type HealthOptions,
  type ProbeResult,
  ReplicaHealth,
  type ReplicaOutcome,
} from "./replica-health.ts";
import type { RoutedRequest } from "./router.ts";
import { SlowWatch } from "./slow-watch.ts";

/** What a replica is there for: in a split upstream, one pool computes prompts and hands the KV to the other. */
export type ReplicaRole = "both" | "prefill" | "decode";

export interface ReplicaRouterOptions extends BalancedAffinityOptions {
  /** By replica, 1 to 256 of them. */
  readonly roles: readonly ReplicaRole[];
  readonly health?: HealthOptions;
  /** By replica: not warm yet at the start. */
  readonly cold?: readonly boolean[];
  /** After this long a report counts for nothing. Default 10 s. */
  readonly staleUs?: number;
  /** Expected output of a request that does not say. Default 256. */
  readonly outputTokens?: number;
  /** A split upstream computes prompts of no more new tokens than this where they are decoded. Default 256. */
  readonly localPrefillTokens?: number;
}

export interface PlacedRequest extends RoutedRequest {
  readonly outputTokens?: number;
  /** Replicas that this request has failed on. */
  readonly excluded?: readonly number[];
}

/** Where a request goes in a split upstream. */
export interface PlacedPair {
  /** Undefined if the prompt is computed where it is decoded. */
  readonly prefill: Placement | undefined;
  readonly decode: Placement;
}

export interface ReplicaSnapshot {
  readonly state: "healthy" | "slow" | "cold" | "ejected" | "draining";
  /** Ours. */
  readonly requests: number;
  readonly openTokens: number;
  /** What the router counts: ours and others'. */
  readonly loadTokens: number;
  readonly pendingTokens: number;
  readonly weight: number;
  /** No report, or one that counts for nothing any more. */
  readonly isStale: boolean;
  readonly picks: number;
}

/** Errors alone may eject at most this share of a fleet. */
const EJECTED_SHARE_MAX = 0.5;

interface MutableStanding extends Standing {
  isOpen: boolean;
  weight: number;
  handicapTokens: number;
}

export class ReplicaRouter {
  readonly replicas: number;
  readonly #roles: readonly ReplicaRole[];
  readonly #affinity: BalancedAffinity;
  readonly #book: LoadBook;
  readonly #slow: SlowWatch;
  readonly #health: readonly ReplicaHealth[];
  readonly #standings: MutableStanding[];
  readonly #startedS: (number | undefined)[];
  readonly #picks: number[];
  readonly #outputTokens: number;
  readonly #localPrefillTokens: number;

  constructor(options: ReplicaRouterOptions, nowUs: number) {
    const { roles, health = {}, cold = [] } = options;
    this.replicas = roles.length;
    this.#roles = roles;
    this.#affinity = new BalancedAffinity(options);
    this.#affinity.index(this.replicas);
    this.#book = new LoadBook(this.replicas, options.staleUs);
    this.#slow = new SlowWatch(roles);
    this.#health = roles.map((_, replica) => new ReplicaHealth(health, nowUs, cold[replica]));
    this.#standings = roles.map(() => ({ isOpen: true, weight: 1, handicapTokens: 0 }));
    this.#startedS = roles.map(() => undefined);
    this.#picks = roles.map(() => 0);
    this.#outputTokens = options.outputTokens ?? 256;
    this.#localPrefillTokens = options.localPrefillTokens ?? 256;
  }

  /** @returns undefined if no replica may be picked. */
  pick(request: PlacedRequest, nowUs: number): Placement | undefined {
    const placement = this.#place(request, nowUs, "both");
    if (placement !== undefined) this.#await(placement);
    return placement;
  }

  /**
   * For a split upstream. The decode replica comes first: what it still holds of the conversation is neither computed nor
   * moved again, and if little is left to compute, no prefill replica is asked at all.
   */
  pickPair(request: PlacedRequest, nowUs: number): PlacedPair | undefined {
    const decode = this.#place(request, nowUs, "decode");
    if (decode === undefined) return undefined;
    const isShort = decode.newTokens <= this.#localPrefillTokens;
    const prefill = isShort
      ? undefined
      : this.#place({ ...request, outputTokens: 0 }, nowUs, "prefill");
    // Without anybody to compute it for it, the decode replica does so itself: slower, and still an answer.
    this.#await(prefill ?? decode);
    return { prefill, decode };
  }

  /** Its first output has come. Of streams only: the first byte of a whole answer says nothing of the prompt's price. */
  firstOutput(placement: Placement, nowUs: number): void {
    if (!placement.isOpen || !placement.isPending) return;
    const { replica, newTokens, atUs } = placement;
    this.#settle(placement);
    this.#slow.record(replica, nowUs - atUs, newTokens, nowUs);
  }

  /** It is over. A second end counts for nothing. */
  end(placement: Placement, outcome: ReplicaOutcome, nowUs: number): void {
    if (!placement.isOpen) return;
    const { replica, openTokens } = placement;
    placement.isOpen = false;
    if (placement.isPending) this.#settle(placement);
    this.#book.closed(replica, openTokens);
    const ejected = this.#health.filter(({ isEjected }) => isEjected).length;
    const mayEject = ejected + 1 <= this.replicas * EJECTED_SHARE_MAX;
    if (this.#health[replica]!.ended(outcome, nowUs, mayEject)) this.#unlearn(replica);
  }

  report(replica: number, report: EngineReport, nowUs: number): void {
    const { cacheTokens, startedS } = report;
    if (cacheTokens !== undefined && cacheTokens > 0) {
      this.#affinity.index(this.replicas).setCache(replica, cacheTokens);
    }
    const before = this.#startedS[replica];
    // Later, not just another: several processes may share one address and answer in turn.
    if (before !== undefined && startedS !== undefined && startedS > before) {
      // Answering for its metrics does not prove that an ejected one serves: its probe does.
      if (!this.#health[replica]!.isEjected) this.#health[replica]!.restarted(nowUs);
      this.#unlearn(replica);
      this.#affinity.index(this.replicas).forget(replica);
    }
    this.#startedS[replica] = Math.max(startedS ?? 0, before ?? 0) || undefined;
    this.#book.report(replica, report, nowUs);
  }

  isEjected(replica: number): boolean {
    return this.#health[replica]!.isEjected;
  }

  isProbeDue(replica: number, nowUs: number): boolean {
    return nowUs >= this.#health[replica]!.nextProbeUs;
  }

  probed(replica: number, result: ProbeResult, nowUs: number): void {
    const health = this.#health[replica]!;
    const wasEjected = health.isEjected;
    if (health.probed(result, nowUs)) this.#unlearn(replica);
    // Only a time of start, which its next report brings, could show that it is the same process with the same cache.
    if (wasEjected && !health.isEjected && this.#startedS[replica] === undefined) {
      this.#affinity.index(this.replicas).forget(replica);
    }
  }

  /** Gets no new request; those that it has go on. */
  drain(replica: number): void {
    this.#health[replica]!.isDraining = true;
  }

  resume(replica: number): void {
    this.#health[replica]!.isDraining = false;
  }

  /** The first probe that may bring an ejected replica back; endless if there is none. */
  nextReturnUs(): number {
    const gone = this.#health.filter(({ isEjected, isDraining }) => isEjected && !isDraining);
    return Math.min(...gone.map(({ nextProbeUs }) => nextProbeUs));
  }

  snapshot(nowUs: number): readonly ReplicaSnapshot[] {
    this.#book.refresh(nowUs);
    return this.#health.map((health, replica) => {
      const slowWeight = this.#slow.weight(replica, nowUs);
      const state = health.state(nowUs);
      return {
        state: health.isDraining
          ? "draining"
          : state === "healthy" && slowWeight < 1
            ? "slow"
            : state,
        requests: this.#book.ownRequests(replica),
        openTokens: this.#book.ownOpenTokens(replica),
        loadTokens: Math.round(this.#book.openTokens[replica]!),
        pendingTokens: Math.round(this.#book.pendingTokens[replica]!),
        weight: health.weight(nowUs) * slowWeight,
        isStale: this.#book.isStale(replica, nowUs),
        picks: this.#picks[replica]!,
      };
    });
  }

  /** What the index of prefixes holds. */
  index(): { readonly nodes: number; readonly bytes: number } {
    const { nodes, bytes } = this.#affinity.index(this.replicas);
    return { nodes, bytes };
  }

  #place(request: PlacedRequest, nowUs: number, role: ReplicaRole): Placement | undefined {
    this.#book.refresh(nowUs);
    this.#stand(request.excluded, nowUs, role);
    const { openTokens, pendingTokens } = this.#book;
    const standings = this.#standings;
    const replica = this.#affinity.choose(request, { openTokens, pendingTokens, standings });
    if (replica === undefined) return undefined;
    assert(standings[replica]!.isOpen, "a replica that may be picked");
    const { newTokens } = this.#affinity;
    const tokens = (request.tokens ?? 0) + (request.outputTokens ?? this.#outputTokens);
    this.#book.opened(replica, tokens);
    this.#picks[replica]! += 1;
    return new Placement(replica, tokens, newTokens, nowUs);
  }

  /** It is this replica that computes the prompt. */
  #await(placement: Placement): void {
    placement.isPending = true;
    placement.pendingTokens = placement.newTokens;
    this.#book.awaits(placement.replica, placement.pendingTokens);
  }

  #settle(placement: Placement): void {
    placement.isPending = false;
    this.#book.started(placement.replica, placement.pendingTokens);
    placement.pendingTokens = 0;
  }

  /** Cold and overloaded replicas come last: only when all others have that much more to do. */
  #stand(excluded: readonly number[] | undefined, nowUs: number, role: ReplicaRole): void {
    const { slackTokens } = this.#affinity;
    for (let replica = 0; replica < this.replicas; replica += 1) {
      const health = this.#health[replica]!;
      const standing = this.#standings[replica]!;
      standing.isOpen =
        this.#roles[replica] === role &&
        !health.isEjected &&
        !health.isDraining &&
        excluded?.includes(replica) !== true;
      standing.weight = health.weight(nowUs) * this.#slow.weight(replica, nowUs);
      const late = 1 - health.warmth(nowUs) + (health.isOverloaded(nowUs) ? 1 : 0);
      standing.handicapTokens = slackTokens * late;
    }
  }

  /** How fast it was and what it said of itself holds no more. */
  #unlearn(replica: number): void {
    this.#slow.forget(replica);
    this.#book.forget(replica);
  }
}
