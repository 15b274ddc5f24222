/**
 * How much each replica has to do. What this process sent is known exactly and at once; what others sent to the same
 * replicas shows in the engines' own metrics, late and roughly. The two are never simply added: an engine also counts what
 * we sent it.
 *
 *     foreign = what the engine holds − what we had open there when it said so      (never below 0)
 *     load    = what we have open now + foreign × (1 − age / staleUs)
 *
 * So a report that is a second old cannot draw a herd to a replica that looked empty: what was sent there since counts from
 * the moment it was sent, and an old report fades instead of being believed for ever.
 */
import { US_PER_S } from "../../core/index.ts";

/** What an engine says of itself. */
export interface EngineReport {
  /** Requests in its queue. */
  readonly waiting: number;
  /** Requests in its batch. */
  readonly running: number;
  /** Share of its KV memory in use, 0 to 1. */
  readonly kvUse?: number;
  /** Tokens that its KV memory holds. */
  readonly cacheTokens?: number;
  /** Unix time in seconds at which its process began: another one, another cache. */
  readonly startedS?: number;
}

/** Until there is a mean of our own. */
const REQUEST_TOKENS = 2_048;
const SMOOTHING = 0.05;
const STALE_US = 10 * US_PER_S;

interface Foreign {
  readonly openTokens: number;
  readonly pendingTokens: number;
  readonly atUs: number;
}

export class LoadBook {
  readonly #replicas: number;
  readonly #staleUs: number;
  /** Ours, by replica. */
  readonly #open: Float64Array;
  readonly #pending: Float64Array;
  readonly #requests: Int32Array;
  readonly #pendingRequests: Int32Array;
  readonly #foreign: (Foreign | undefined)[];
  /** Ours and others', by replica, as of the last `refresh`. */
  readonly openTokens: Float64Array;
  readonly pendingTokens: Float64Array;
  #meanTokens = REQUEST_TOKENS;

  constructor(replicas: number, staleUs = STALE_US) {
    this.#replicas = replicas;
    this.#staleUs = staleUs;
    this.#open = new Float64Array(replicas);
    this.#pending = new Float64Array(replicas);
    this.#requests = new Int32Array(replicas);
    this.#pendingRequests = new Int32Array(replicas);
    this.#foreign = new Array<Foreign | undefined>(replicas).fill(undefined);
    this.openTokens = new Float64Array(replicas);
    this.pendingTokens = new Float64Array(replicas);
  }

  opened(replica: number, tokens: number): void {
    this.#open[replica]! += tokens;
    this.#requests[replica]! += 1;
    this.#meanTokens += SMOOTHING * (tokens - this.#meanTokens);
  }

  /** Of an open request's prompt, so much is to be computed there. */
  awaits(replica: number, pendingTokens: number): void {
    this.#pending[replica]! += pendingTokens;
    this.#pendingRequests[replica]! += 1;
  }

  /** It has been computed. */
  started(replica: number, pendingTokens: number): void {
    this.#pending[replica]! -= pendingTokens;
    this.#pendingRequests[replica]! -= 1;
  }

  closed(replica: number, tokens: number): void {
    this.#open[replica]! -= tokens;
    this.#requests[replica]! -= 1;
  }

  report(replica: number, { waiting, running, kvUse, cacheTokens }: EngineReport, nowUs: number) {
    const mean = this.#meanTokens;
    const inBatch =
      kvUse === undefined || cacheTokens === undefined ? running * mean : kvUse * cacheTokens;
    const openTokens = Math.max(0, inBatch + waiting * mean - this.#open[replica]!);
    const othersWaiting = Math.max(0, waiting - this.#pendingRequests[replica]!);
    this.#foreign[replica] = { openTokens, pendingTokens: othersWaiting * mean, atUs: nowUs };
  }

  /** Nothing that was said of it holds any more. */
  forget(replica: number): void {
    this.#foreign[replica] = undefined;
  }

  /** Brings `openTokens` and `pendingTokens` up to now. */
  refresh(nowUs: number): void {
    for (let replica = 0; replica < this.#replicas; replica += 1) {
      const foreign = this.#foreign[replica];
      const age = foreign === undefined ? 1 : (nowUs - foreign.atUs) / this.#staleUs;
      const fresh = Math.min(1, Math.max(0, 1 - age));
      this.openTokens[replica] = this.#open[replica]! + fresh * (foreign?.openTokens ?? 0);
      this.pendingTokens[replica] = this.#pending[replica]! + fresh * (foreign?.pendingTokens ?? 0);
    }
  }

  isStale(replica: number, nowUs: number): boolean {
    const foreign = this.#foreign[replica];
    return foreign === undefined || nowUs - foreign.atUs >= this.#staleUs;
  }

  ownOpenTokens(replica: number): number {
    return this.#open[replica]!;
  }

  ownRequests(replica: number): number {
    return this.#requests[replica]!;
  }
}
