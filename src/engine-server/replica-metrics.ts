/**
 * What is counted for one engine, in vLLM's families.
 *
 * Two clocks meet here. What a client can see (TTFT, gaps, end to end) is measured when bytes are written. What only the
 * engine knows (queue, prefill, decode) is the difference of ends of steps, which are exact whatever timers did; the two
 * differ by the reported lag. Unlike vLLM, a request of one token adds no zero to TPOT: it has none.
 */
import { US_PER_S } from "../core/index.ts";
import type { Engine, EngineRequest } from "../engine/index.ts";
import type { LiveCall } from "./live-call.ts";
import type { SettledStep } from "./pace.ts";
import type { TwinClock } from "./twin-clock.ts";
import type { VllmFamilies, VllmHistogram } from "./vllm-families.ts";

/** Why a response was over, in the engine's eyes: a tool call is a stop like any other. */
export type EndReason = "stop" | "length" | "abort" | "error";
const END_REASONS: readonly EndReason[] = ["stop", "length", "abort", "error"];

export class ReplicaMetrics {
  readonly #label: { readonly engine: string };
  readonly #engine: Engine;
  readonly #clock: TwinClock;
  readonly #families: VllmFamilies;
  /** Bound once: a label looked up for every token is what tokens would wait for. */
  readonly #observe: Readonly<Record<VllmHistogram, (value: number) => void>>;
  readonly #countTokens: (count: number) => void;
  #seen = { steps: 0, computedTokens: 0, busyUs: 0, lostUs: 0 };

  constructor(families: VllmFamilies, index: number, engine: Engine, clock: TwinClock) {
    this.#label = { engine: String(index) };
    this.#engine = engine;
    this.#clock = clock;
    this.#families = families;
    const bound = Object.entries(families.histograms).map(([name, histogram]) => {
      histogram.zero(this.#label);
      const child = histogram.labels(this.#label);
      return [name, (value: number) => child.observe(value)];
    });
    this.#observe = Object.fromEntries(bound);
    const tokens = families.generationTokens.labels(this.#label);
    this.#countTokens = (count) => tokens.inc(count);
    for (const counter of [
      families.generationTokens,
      families.promptTokens,
      families.preemptions,
    ]) {
      counter.inc(this.#label, 0);
    }
    for (const finished_reason of END_REASONS) {
      families.success.inc({ finished_reason, ...this.#label }, 0);
    }
  }

  /**
   * The call's next `count` tokens were written at `nowUs`. As in vLLM, a gap is counted once a step, so with drafts it is
   * longer than the time per token.
   */
  tokens(call: LiveCall, count: number, nowUs: number): void {
    this.#countTokens(count);
    if (Number.isNaN(call.lastTokenUs)) {
      this.#observe.ttft((nowUs - call.arrivedUs) / US_PER_S);
      this.#families.promptTokens.inc(this.#label, call.request.prompt.tokens);
    } else {
      this.#observe.itl((nowUs - call.lastTokenUs) / US_PER_S);
    }
    call.lastTokenUs = nowUs;
  }

  /** @returns seconds that it waited for its first step. */
  finished(call: LiveCall, done: EngineRequest, nowUs: number): number {
    const { arrivedUs, scheduledUs, firstTokenUs, lastTokenUs, generated } = done;
    const seconds = (fromUs: number, toUs: number): number =>
      this.#clock.hostSpanUs(toUs - fromUs) / US_PER_S;
    const decodeS = seconds(firstTokenUs, lastTokenUs);
    this.#observe.e2e((nowUs - call.arrivedUs) / US_PER_S);
    // A step may have begun, by its own reckoning, a timer's lag before the request came in.
    const queueS = Math.max(0, seconds(arrivedUs, scheduledUs));
    this.#observe.queue(queueS);
    this.#observe.prefill(seconds(scheduledUs, firstTokenUs));
    this.#observe.decode(decodeS);
    this.#observe.inference(seconds(scheduledUs, lastTokenUs));
    if (generated > 1) this.#observe.tpot(decodeS / (generated - 1));
    this.#observe.promptLengths(done.promptTokens);
    this.#observe.outputLengths(generated);
    const { maxTokens } = call.request;
    if (maxTokens !== undefined) this.#observe.limits(maxTokens);
    return queueS;
  }

  ended(finished_reason: EndReason): void {
    this.#families.success.inc({ finished_reason, ...this.#label });
  }

  preempted(): void {
    this.#families.preemptions.inc(this.#label);
  }

  /** A timer of the twin has run; undefined: it was not the end of one of this engine's steps. */
  stepped(lateUs: number): SettledStep | undefined {
    const { steps, computedTokens, busyUs, lostUs } = this.#engine.totals;
    const seen = this.#seen;
    if (steps === seen.steps) return undefined;
    this.#observe.lag(lateUs / US_PER_S);
    this.#observe.stepTokens(computedTokens - seen.computedTokens);
    this.#seen = { steps, computedTokens, busyUs, lostUs };
    return {
      lagUs: lateUs,
      priceUs: this.#clock.hostSpanUs(busyUs - seen.busyUs),
      lostUs: this.#clock.hostSpanUs(lostUs - seen.lostUs),
    };
  }
}
