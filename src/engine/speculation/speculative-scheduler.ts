/**
 * Speculative decoding round any scheduler that runs decodes step by step. The scheduler composes its batch as if there
 * were no drafts; this adds them to the answers in it, and when the step is done keeps what was accepted.
 *
 *     plan:   inner.plan ─▶ does it pay? ─▶ room for k more tokens each ─▶ batch with drafts
 *     commit: luck ─▶ tokens computed = 1 + accepted ─▶ inner.commit, which yields as many
 *
 * Drafts take what is left: of the step's token budget after prompts and answers, and of the KV memory as it is. Nobody
 * is thrown out and no prompt waits for a guess. Whether drafting pays is worked out before each step from the same cost
 * model that prices it: drafting on a batch that is bound by computing makes every step longer than what it yields. It is
 * given up when it loses and taken up again when it wins by a margin, so that it does not flutter at the break-even.
 *
 * Invariants: drafted = accepted + wasted; an answer never gets longer than it is; a request's luck depends on the seed,
 * its place in the order of arrival and how often it was verified, not on the batch around it.
 */
import { Random } from "../../clock/index.ts";
import { assert } from "../../core/index.ts";
import { Batch } from "../batch.ts";
import type { CostModel } from "../cost-model.ts";
import type { KvMemory } from "../kv-memory.ts";
import type { EngineRequest } from "../request.ts";
import type { EngineSink, PrefixCounters, Scheduler } from "../scheduler.ts";
import type { HostPool } from "../swap/host-pool.ts";
import { AcceptanceLaw, type Speculation } from "./speculation.ts";

/** What drafting came to. All only grow. */
export interface SpeculationTotals {
  /** Times that an answer had drafts in a step, and the tokens that these yielded: 1 + accepted each. */
  verifications: number;
  yieldedTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  /** Rejected, drafted past the end of an answer, or for one that was aborted meanwhile. */
  wastedTokens: number;
  /** Steps with answers in them in which drafting would have lost, and how often it was given up. */
  declinedSteps: number;
  switchedOff: number;
}

/** By how much it has to win before it is taken up again. */
const MARGIN = 0.05;

export class SpeculativeScheduler implements Scheduler {
  readonly name: string;
  readonly speculation: SpeculationTotals = {
    verifications: 0,
    yieldedTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
    wastedTokens: 0,
    declinedSteps: 0,
    switchedOff: 0,
  };
  readonly #inner: Scheduler;
  readonly #cost: CostModel;
  readonly #options: Speculation;
  readonly #law: AcceptanceLaw;
  readonly #tokensMax: number;
  readonly #luck = new WeakMap<EngineRequest, Random>();
  readonly #ordinals = new WeakMap<EngineRequest, number>();
  readonly #decodes = new Batch();
  /** By place in the batch under way. */
  readonly #drafts: number[] = [];
  #arrived = 0;
  #pays = true;

  /** @param cost of the target alone. @param tokensMax of a step, drafts included. */
  constructor(inner: Scheduler, cost: CostModel, options: Speculation, tokensMax: number) {
    this.#inner = inner;
    this.#cost = cost;
    this.#options = options;
    this.#law = new AcceptanceLaw(options);
    this.#tokensMax = tokensMax;
    this.name = `${inner.name}, speculative`;
  }

  get prefix(): Readonly<PrefixCounters> {
    return this.#inner.prefix;
  }

  get waiting(): number {
    return this.#inner.waiting;
  }

  get running(): number {
    return this.#inner.running;
  }

  get liveTokens(): number {
    return this.#inner.liveTokens;
  }

  get kv(): KvMemory {
    return this.#inner.kv;
  }

  get host(): HostPool | undefined {
    return this.#inner.host;
  }

  enqueue(request: EngineRequest): void {
    this.#ordinals.set(request, this.#arrived);
    this.#arrived += 1;
    this.#inner.enqueue(request);
  }

  abort(request: EngineRequest): boolean {
    return this.#inner.abort(request);
  }

  wakeUs(): number | undefined {
    return this.#inner.wakeUs();
  }

  check(): void {
    const { draftedTokens, acceptedTokens, wastedTokens } = this.speculation;
    const inFlight = this.#drafts.reduce((sum, drafts) => sum + drafts, 0);
    assert(draftedTokens === acceptedTokens + wastedTokens + inFlight, "drafts are accounted for");
    this.#inner.check();
  }

  plan(nowUs: number): Batch | undefined {
    const batch = this.#inner.plan(nowUs);
    this.#drafts.length = 0;
    if (batch === undefined || batch.decodeSequences === 0) return batch;
    const { draftTokens } = this.#options;
    const answers = Math.floor((this.#tokensMax - batch.tokens) / draftTokens);
    const drafted = Math.min(answers, batch.decodeSequences);
    if (drafted <= 0) return batch;
    const draftStepUs = this.#options.draftShare * this.#decodesUs(batch);
    if (this.#decide(batch, drafted, draftTokens * draftStepUs)) {
      this.#addDrafts(batch, drafted, draftTokens * draftStepUs);
    } else {
      this.speculation.declinedSteps += 1;
    }
    return batch;
  }

  commit(batch: Batch, nowUs: number, sink: EngineSink): void {
    for (let i = 0; i < this.#drafts.length; i += 1) {
      const drafts = this.#drafts[i]!;
      if (drafts > 0) batch.newTokens[i] = 1 + this.#verify(batch.requests[i]!, drafts);
    }
    this.#drafts.length = 0;
    this.#inner.commit(batch, nowUs, sink);
  }

  /** Tokens of answers per time, with drafts against without; a prompt in the step is part of both. */
  #decide(batch: Batch, drafted: number, draftUs: number): boolean {
    const { draftTokens } = this.#options;
    const plainUs = this.#cost.stepUs(batch);
    batch.draftTokens = drafted * draftTokens;
    const longerUs = this.#cost.stepUs(batch) + draftUs;
    batch.draftTokens = 0;
    const more = (drafted * this.#law.mean(draftTokens)) / batch.decodeSequences;
    const gain = ((1 + more) * plainUs) / longerUs;
    if (this.#pays && gain < 1) {
      this.#pays = false;
      this.speculation.switchedOff += 1;
    } else if (!this.#pays && gain > 1 + MARGIN) {
      this.#pays = true;
    }
    return this.#pays;
  }

  #addDrafts(batch: Batch, drafted: number, draftUs: number): void {
    const { draftTokens } = this.#options;
    let left = drafted;
    for (let i = 0; i < batch.size; i += 1) {
      const request = batch.requests[i]!;
      const takes = left > 0 && isDecode(batch, i);
      const hasRoom = takes && this.kv.reserve(request, request.computed + 1 + draftTokens);
      this.#drafts.push(hasRoom ? draftTokens : 0);
      if (!hasRoom) continue;
      left -= 1;
      batch.draftTokens += draftTokens;
      this.speculation.draftedTokens += draftTokens;
    }
    if (batch.draftTokens > 0) batch.draftUs = draftUs;
  }

  #verify(request: EngineRequest, drafts: number): number {
    const { speculation } = this;
    if (request.state !== "running") {
      speculation.wastedTokens += drafts;
      return 0;
    }
    const left = request.outputTokens - request.generated - 1;
    const accepted = Math.min(left, this.#law.accepted(drafts, this.#luckOf(request).next()));
    speculation.verifications += 1;
    speculation.yieldedTokens += 1 + accepted;
    speculation.acceptedTokens += accepted;
    speculation.wastedTokens += drafts - accepted;
    return accepted;
  }

  #luckOf(request: EngineRequest): Random {
    let luck = this.#luck.get(request);
    if (luck === undefined) {
      const ordinal = this.#ordinals.get(request);
      luck = new Random(this.#options.seed ?? 0, `speculation ${ordinal}`);
      this.#luck.set(request, luck);
    }
    return luck;
  }

  /** A step of the target on nothing but the batch's answers. */
  #decodesUs(batch: Batch): number {
    if (batch.prefillSequences === 0) return this.#cost.stepUs(batch);
    this.#decodes.reset();
    for (let i = 0; i < batch.size; i += 1) {
      if (isDecode(batch, i)) this.#decodes.addDecode(batch.requests[i]!);
    }
    return this.#cost.stepUs(this.#decodes);
  }
}

function isDecode(batch: Batch, i: number): boolean {
  const request = batch.requests[i]!;
  return batch.newTokens[i] === 1 && request.generated > 0 && request.computed > 0;
}

/** The target's price and, before it, the draft model's, which whoever drafted has put into the batch. */
export function withDrafts(cost: CostModel): CostModel {
  return {
    name: `${cost.name}, with drafts`,
    stepUs: (batch) => cost.stepUs(batch) + Math.round(batch.draftUs),
  };
}
