/**
 * Drives a reference policy through a list of requests in virtual time, one step at a time:
 *
 *     settle the step that ends ─▶ queue all who have arrived by now ─▶ compose the next step ─▶ price it
 *
 * Time is in seconds as doubles, against the rule of whole microseconds elsewhere, because it has to be the double that
 * Vidur arrives at: a step ends at its start plus its price, and not one addition may be done in another order or unit.
 *
 * **What parity proves.** test/parity/ repeats runs of Vidur, an independent simulator, and finds every step with the same
 * requests in the same order, the same token counts, the same price and the same times, bit by bit. So our reading of four
 * published policies is theirs, memory shortage and restarts included, and the bookkeeping around them loses nothing.
 *
 * The twin's own schedulers repeat the runs in which memory is never short too; where it is, they follow today's engines,
 * and twin-agreement.test.ts says under which rules they would still agree.
 *
 * **What it does not prove.** Nothing about hardware: both sides read the same kernel tables, which are coarse and old. And
 * nothing about what the recorded runs do not exercise: pipeline stages, several replicas, a step in which nobody can be
 * scheduled although some wait.
 */
import { ManxError } from "../../core/index.ts";
import type { ReferenceBatch } from "./reference-batch.ts";
import { ReferenceRequest, type ReferenceShape } from "./reference-request.ts";
import type { ReferenceScheduler } from "./reference-scheduler.ts";
import type { ReferenceCost } from "./table-cost.ts";

export interface ReferenceRestart {
  /** Of the step that was being composed, from 0. */
  readonly stepIndex: number;
  readonly request: ReferenceRequest;
  /** Tokens that it had until then. */
  readonly processed: number;
}

export interface ReferenceEngineOptions {
  readonly scheduler: ReferenceScheduler;
  readonly cost: ReferenceCost;
  /** In any order; of those with the same arrival, the first in the list comes first. */
  readonly requests: readonly ReferenceShape[];
  readonly onRestart?: (restart: ReferenceRestart) => void;
}

export interface ReferenceStep {
  readonly index: number;
  readonly startS: number;
  readonly priceS: number;
  /** Good until the next call of `step`. */
  readonly batch: ReferenceBatch;
}

export class ReferenceEngine {
  /** In order of arrival. */
  readonly requests: readonly ReferenceRequest[];
  readonly #options: ReferenceEngineOptions;
  #nowS = 0;
  #arrived = 0;
  #steps = 0;
  #inFlight: ReferenceStep | undefined;

  /** @throws MANX_REQUEST_INVALID */
  constructor(options: ReferenceEngineOptions) {
    this.#options = options;
    this.requests = options.requests
      .map((shape) => new ReferenceRequest(shape))
      .sort((a, b) => a.arrivedS - b.arrivedS);
  }

  /**
   * Settles the step before and composes the next one; undefined once all requests have completed. Checks conservation at
   * both points.
   * @throws MANX_REQUEST_NEVER_FITS if a request can never be let in. MANX_CONFIG_IMPOSSIBLE if a step has no price.
   */
  step(): ReferenceStep | undefined {
    this.#settle();
    for (;;) {
      this.#enqueueArrived();
      const batch = this.#plan();
      if (batch !== undefined) return this.#start(batch);
      // As Vidur: if nothing can be computed, only an arrival changes that.
      const next = this.requests[this.#arrived];
      if (next === undefined) break;
      this.#nowS = next.arrivedS;
    }
    this.#assertAllCompleted();
    return undefined;
  }

  #settle(): void {
    const step = this.#inFlight;
    if (step === undefined) return;
    this.#inFlight = undefined;
    this.#nowS = step.startS + step.priceS;
    this.#options.scheduler.commit(this.#nowS);
    this.#options.scheduler.check();
  }

  #enqueueArrived(): void {
    for (; this.#arrived < this.requests.length; this.#arrived += 1) {
      const request = this.requests[this.#arrived]!;
      if (request.arrivedS > this.#nowS) return;
      this.#options.scheduler.enqueue(request);
    }
  }

  #plan(): ReferenceBatch | undefined {
    const { scheduler, onRestart } = this.#options;
    const batch = scheduler.plan(this.#nowS, (request, processed) =>
      onRestart?.({ stepIndex: this.#steps, request, processed }),
    );
    scheduler.check();
    return batch;
  }

  #start(batch: ReferenceBatch): ReferenceStep {
    const priceS = this.#options.cost.priceS(batch);
    this.#inFlight = { index: this.#steps, startS: this.#nowS, priceS, batch };
    this.#steps += 1;
    return this.#inFlight;
  }

  #assertAllCompleted(): void {
    const { head, ledger, sequencesMax } = this.#options.scheduler;
    if (head === undefined) return;
    throw new ManxError("MANX_REQUEST_NEVER_FITS", {
      where: `request ${head.id}`,
      expected:
        `blocks for its prompt beside ${ledger.watermark} kept free, within the limits of a step ` +
        `and of ${sequencesMax} requests`,
      got: `${ledger.blocksFor(head.promptTokens)} needed, ${ledger.free} of ${ledger.blocks} free`,
      hint: "give it more blocks or raise the limits of a step",
    });
  }
}
