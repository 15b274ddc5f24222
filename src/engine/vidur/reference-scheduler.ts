/**
 * What the four reference policies share: a queue, the list of requests that have started and are in no step (idle), the
 * blocks, and how a step is settled. As everywhere in the engine: `plan → commit`, no clock, no cost.
 *
 *     enqueue ──▶ queue ──plan──▶ step ──commit──▶ completed
 *                   ▲              │ ▲
 *                   │       commit ▼ │ plan
 *                   └──restart──── idle
 *
 * Invariant: idle requests, then the queue, are in order of arrival. For victims are taken from the end of one and put at
 * the front of the other, and steps keep the order. So the victim is always the youngest, as in the twin's own schedulers,
 * and where Vidur sorts there is nothing to sort.
 *
 * They are the policies of the simulator Vidur (Agrawal et al., MLSys 2024), written anew from their rules, flaws
 * included, so that a run of Vidur can be repeated to the last bit; see reference-engine.ts for what that proves.
 */
import { assert, Fifo } from "../../core/index.ts";
import { WAITING_MAX } from "../scheduler.ts";
import { BlockLedger, type BlockOptions, requireCount } from "./block-ledger.ts";
import { ReferenceBatch } from "./reference-batch.ts";
import type { ReferenceRequest } from "./reference-request.ts";

export interface ReferenceOptions extends BlockOptions {
  /** Most requests under way, and in a step. */
  readonly sequencesMax: number;
}

/** Told of each restart, after it: `processed` is what the request had until then. */
export type RestartListener = (request: ReferenceRequest, processed: number) => void;

export abstract class ReferenceScheduler {
  abstract readonly name: string;
  readonly ledger: BlockLedger;
  readonly sequencesMax: number;
  protected readonly queue = new Fifo<ReferenceRequest>(WAITING_MAX);
  /** In order of arrival. Members of a step leave it for as long as the step lasts. */
  protected idle: ReferenceRequest[] = [];
  protected readonly batch = new ReferenceBatch();
  #onRestart: RestartListener | undefined;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: ReferenceOptions) {
    requireCount("sequencesMax", options.sequencesMax);
    this.ledger = new BlockLedger(options);
    this.sequencesMax = options.sequencesMax;
  }

  get waiting(): number {
    return this.queue.size;
  }

  /** Next in the queue. */
  get head(): ReferenceRequest | undefined {
    return this.queue.peek();
  }

  /** In order of arrival. */
  enqueue(request: ReferenceRequest): void {
    assert(this.queue.push(request), `at most ${WAITING_MAX} requests wait`);
  }

  /** The next step, good until `commit`; undefined if nothing can be computed now. */
  plan(nowS: number, onRestart?: RestartListener): ReferenceBatch | undefined {
    assert(this.batch.size === 0, "one step at a time");
    this.#onRestart = onRestart;
    this.compose();
    for (const request of this.batch.requests) {
      if (Number.isNaN(request.scheduledS)) request.scheduledS = nowS;
    }
    return this.batch.size === 0 ? undefined : this.batch;
  }

  /** The planned step has ended. In its order, completed requests give back their blocks and the others fall idle. */
  commit(nowS: number): void {
    const { requests, newTokens } = this.batch;
    for (const [i, request] of requests.entries()) {
      request.advance(newTokens[i]!, nowS);
      if (request.isCompleted) this.ledger.takeBack(request);
      else this.idle.push(request);
    }
    this.batch.reset();
  }

  /** Conservation of blocks and order, with or without a step in flight. @throws MANX_INTERNAL */
  check(): void {
    this.ledger.check([...this.idle, ...this.batch.requests]);
    this.#checkOrder();
    assert(this.ledger.holders <= this.sequencesMax, "no more are under way than may be");
  }

  #checkOrder(): void {
    let arrivedS = 0;
    for (const request of this.idle) {
      assert(request.arrivedS >= arrivedS, "idle requests are in order of arrival");
      arrivedS = request.arrivedS;
    }
    const { head } = this;
    if (head === undefined) return;
    assert(head.blocks === 0, "who waits has no blocks");
    assert(head.arrivedS >= arrivedS, "who waits is younger than who is under way");
  }

  /** Fills the batch, which is empty, from the queue and the idle list. */
  protected abstract compose(): void;

  /** Takes the queue's head into the step. */
  protected admitHead(blocks: number, tokens: number): void {
    const request = this.queue.shift();
    assert(request !== undefined, "who is admitted has waited");
    this.ledger.give(request, blocks);
    this.batch.add(request, tokens);
  }

  /**
   * Adds one token of `idle[index]` to the step. If no block is free, those at the end of the idle list are restarted until
   * one is; if nobody is left there, the request itself is, and stays out.
   */
  protected addDecode(index: number): void {
    const request = this.idle[index]!;
    while (!this.ledger.canContinue) {
      const victim = this.idle.length > index + 1 ? this.idle.pop()! : request;
      this.#restart(victim);
      if (victim === request) return;
    }
    this.ledger.extend(request);
    this.batch.add(request, 1);
  }

  /** To the front of the queue, so that of several victims the last one stands first. */
  #restart(victim: ReferenceRequest): void {
    const { processed } = victim;
    this.ledger.takeBack(victim);
    victim.restart();
    assert(this.queue.unshift(victim), `at most ${WAITING_MAX} requests wait`);
    this.#onRestart?.(victim, processed);
  }
}
