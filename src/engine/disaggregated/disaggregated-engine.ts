/**
 * Prefill and decode on engines of their own (DistServe, Zhong et al., OSDI 2024; Splitwise, Patel et al., ISCA 2024): a
 * prompt no longer stops anybody's answer, at the price of moving its KV.
 *
 *     submit ─▶ prefill engine ─▶ first token ─▶ queue ─▶ link ─▶ decode engine ─▶ other tokens
 *                    └── its KV stays at the source ───────┘└── room set aside at the target ──▶
 *
 * Each engine has one link of its own, which carries one transfer at a time, so a transfer needs the source's and the
 * target's. A source sends in the order in which its prefills end; the target is the one with the fewest open tokens of
 * those that have their link free and room. KV is moved in one piece after the prefill: engines that overlap the two hide
 * part of the transfer, so this is the careful figure.
 *
 * Invariants: KV lies at the source until its transfer has ended; a transfer starts only into room that is set aside; each
 * request ends once. All queues are bounded by the memory of the engine in front of them.
 */
import type { Clock } from "../../clock/index.ts";
import { assert, Fifo, ManxError } from "../../core/index.ts";
import { buildEngine } from "../build-engine.ts";
import { checkConfig } from "../config-check.ts";
import { costOf } from "../cost-choice.ts";
import type { CostModel } from "../cost-model.ts";
import { kvBytesPerToken } from "../data-sheets.ts";
import type { Engine } from "../engine.ts";
import type { EngineConfig } from "../engine-config.ts";
import { findLink, type Link, type LinkName, linkUs } from "../parallel/links.ts";
import { EngineRequest, type RequestShape } from "../request.ts";
import type { EngineSink } from "../scheduler.ts";
import { type Handover, type HandoverTotals, noHandovers } from "./handover.ts";
import { LandingKv } from "./landing-kv.ts";
import { checkPoolSizes, type PoolSizes, refuseStatic } from "./pools.ts";
import { SourceKv } from "./source-kv.ts";

export interface DisaggregatedSink extends EngineSink {
  /** Its KV has arrived: ready at the source, on the link, and off it. */
  onTransfer?(request: EngineRequest, readyUs: number, startUs: number, endUs: number): void;
}

export interface DisaggregatedOptions {
  readonly clock: Clock;
  readonly sink: DisaggregatedSink;
  readonly engines: PoolSizes;
  readonly prefill: EngineConfig;
  /** Default: as `prefill`. Same model; a prefix cache is of no use here and left out. */
  readonly decode?: EngineConfig;
  readonly link: LinkName;
  /** Of the prefill and the decode engines, in place of those that the configs name. */
  readonly cost?: CostModel;
  readonly decodeCost?: CostModel;
  readonly checked?: boolean;
  /** As of an `Engine`. */
  readonly lagLimitUs?: number;
}

/** Built once, for all engines of a pool. */
type PricedOptions = DisaggregatedOptions & {
  readonly cost: CostModel;
  readonly decodeCost: CostModel;
};

interface Source {
  readonly engine: Engine;
  readonly kv: SourceKv;
  readonly queue: Fifo<Handover>;
  isSending: boolean;
}

interface Target {
  readonly engine: Engine;
  readonly kv: LandingKv;
  openTokens: number;
  isReceiving: boolean;
}

export class DisaggregatedEngine {
  readonly handovers: HandoverTotals = noHandovers();
  /** By prefill engine: tokens of prompts that are not yet computed. For a router. */
  readonly openPromptTokens: number[];
  readonly #clock: Clock;
  readonly #sink: DisaggregatedSink;
  readonly #link: Link;
  readonly #bytesPerToken: number;
  readonly #sources: readonly Source[];
  readonly #targets: readonly Target[];
  readonly #open = new Map<EngineRequest, Handover>();
  #queued = 0;
  #firstSource = 0;

  /** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
  constructor(options: DisaggregatedOptions) {
    const { clock, sink, engines, prefill } = options;
    const decode = options.decode ?? prefill;
    checkBoth(engines, prefill, decode);
    this.#clock = clock;
    this.#sink = sink;
    this.#link = findLink(options.link);
    this.#bytesPerToken = kvBytesPerToken(checkConfig(prefill).model);
    const cost = options.cost ?? costOf(prefill);
    const decodeCost =
      options.decodeCost ?? options.cost ?? (decode === prefill ? cost : costOf(decode));
    const priced = { ...options, cost, decodeCost };
    this.#sources = Array.from({ length: engines.prefill }, (_, i) => this.#source(i, priced));
    this.#targets = Array.from({ length: engines.decode }, () => this.#target(decode, priced));
    this.openPromptTokens = this.#sources.map(() => 0);
  }

  get prefillEngines(): readonly Engine[] {
    return this.#sources.map(({ engine }) => engine);
  }

  get decodeEngines(): readonly Engine[] {
    return this.#targets.map(({ engine }) => engine);
  }

  /** @param source prefill engine to use. @throws MANX_REQUEST_NEVER_FITS if one of the pools could never hold it. */
  submit<Tag>(shape: RequestShape, tag: Tag, source: number): EngineRequest<Tag> {
    const { engine } = this.#sources[source]!;
    this.#targets[0]!.engine.assertFits(shape);
    const request = new EngineRequest(shape, this.#clock.nowUs(), tag);
    const handover = {
      phase: "prefill",
      request: request as EngineRequest,
      source,
      target: -1,
      readyUs: Number.NaN,
      startUs: Number.NaN,
    } as Handover;
    handover.prefill = engine.submit({ ...shape, outputTokens: 1 }, handover) as EngineRequest;
    this.#open.set(request as EngineRequest, handover);
    this.openPromptTokens[source]! += shape.promptTokens;
    return request;
  }

  /** Answers false if it had already ended. Nothing more is heard of it, but a transfer under way runs to its end. */
  abort(request: EngineRequest): boolean {
    const handover = this.#open.get(request);
    if (handover === undefined) return false;
    this.#open.delete(request);
    const source = this.#sources[handover.source]!;
    if (handover.phase === "prefill") {
      this.openPromptTokens[handover.source]! -= request.promptTokens;
      source.engine.abort(handover.prefill);
    } else if (handover.phase === "queued") {
      source.queue.remove(handover);
      this.#queued -= 1;
      this.#letGo(handover);
    } else if (handover.phase === "decode") {
      const target = this.#targets[handover.target]!;
      target.openTokens -= request.promptTokens + request.outputTokens;
      target.engine.abort(request);
      target.kv.forget(request);
    }
    request.state = "aborted";
    this.#pump();
    return true;
  }

  #source(i: number, options: PricedOptions): Source {
    const { speculation: _, pools: __, ...config } = options.prefill;
    let kv: SourceKv | undefined;
    const engine = buildEngine(config, {
      clock: this.#clock,
      cost: options.cost,
      ...(options.checked !== undefined && { checked: options.checked }),
      ...(options.lagLimitUs !== undefined && { lagLimitUs: options.lagLimitUs }),
      wrapKv: (inner) => {
        kv = new SourceKv(inner);
        return kv;
      },
      sink: {
        onToken: (part, nowUs) => this.#firstToken(part.tag as Handover, nowUs),
        onFinish: (part, nowUs) => this.#prefilled(part.tag as Handover, nowUs),
        onPreempt: (part, nowUs) => {
          const { request } = part.tag as Handover;
          request.preemptions += 1;
          this.#sink.onPreempt?.(request, nowUs);
        },
      },
    });
    assert(kv !== undefined, `prefill engine ${i} has a memory`);
    return { engine, kv, queue: new Fifo(kv.totalTokens), isSending: false };
  }

  #target({ pools: _, ...decode }: EngineConfig, options: PricedOptions): Target {
    const memory = decode.memory === "contiguous" ? "contiguous" : "paged";
    let kv: LandingKv | undefined;
    const engine = buildEngine(
      { ...decode, memory },
      {
        clock: this.#clock,
        cost: options.decodeCost,
        ...(options.checked !== undefined && { checked: options.checked }),
        ...(options.lagLimitUs !== undefined && { lagLimitUs: options.lagLimitUs }),
        wrapKv: (inner) => {
          kv = new LandingKv(inner);
          return kv;
        },
        sink: {
          onToken: (request, nowUs, inStep) => this.#sink.onToken(request, nowUs, inStep),
          onFinish: (request, nowUs) => this.#decoded(request, nowUs),
          onPreempt: (request, nowUs) => this.#sink.onPreempt?.(request, nowUs),
        },
        // Whatever a step has freed, and whoever it has let in again, may let a transfer start.
        afterStep: () => this.#pump(),
      },
    );
    assert(kv !== undefined, "a decode engine has a memory");
    return { engine, kv, openTokens: 0, isReceiving: false };
  }

  #firstToken({ request, prefill }: Handover, nowUs: number): void {
    request.generated = 1;
    request.firstTokenUs = nowUs;
    request.lastTokenUs = nowUs;
    request.scheduledUs = prefill.scheduledUs;
    request.cachedTokens = prefill.cachedTokens;
    this.#sink.onToken(request, nowUs, 1);
  }

  #prefilled(handover: Handover, nowUs: number): void {
    const { request, source } = handover;
    this.openPromptTokens[source]! -= request.promptTokens;
    if (!this.#open.has(request)) {
      this.#letGo(handover);
    } else if (request.outputTokens === 1) {
      this.#open.delete(request);
      this.#letGo(handover);
      request.state = "finished";
      this.#sink.onFinish(request, nowUs);
    } else {
      handover.phase = "queued";
      handover.readyUs = nowUs;
      this.#sources[source]!.queue.push(handover);
      this.#queued += 1;
      this.handovers.queuedMax = Math.max(this.handovers.queuedMax, this.#queued);
      this.#pump();
    }
  }

  /** Starts every transfer that can start now. Sources take turns in going first. */
  #pump(): void {
    for (let i = 0; i < this.#sources.length && this.#queued > 0; i += 1) {
      const source = this.#sources[(this.#firstSource + i) % this.#sources.length]!;
      const handover = source.queue.peek();
      if (handover === undefined || source.isSending) continue;
      const target = this.#targetFor(handover.request);
      if (target === undefined) continue;
      source.queue.shift();
      this.#queued -= 1;
      this.#send(handover, source, target);
    }
    this.#firstSource = (this.#firstSource + 1) % this.#sources.length;
  }

  #targetFor(request: EngineRequest): number | undefined {
    const free = [...this.#targets.keys()].filter((i) => !this.#targets[i]!.isReceiving);
    free.sort((a, b) => this.#targets[a]!.openTokens - this.#targets[b]!.openTokens || a - b);
    return free.find((i) => this.#targets[i]!.kv.expect(request));
  }

  #send(handover: Handover, source: Source, to: number): void {
    const { request } = handover;
    const target = this.#targets[to]!;
    const nowUs = this.#clock.nowUs();
    const bytes = request.promptTokens * this.#bytesPerToken;
    const endUs = nowUs + Math.ceil(linkUs(this.#link, bytes));
    handover.phase = "transfer";
    handover.target = to;
    handover.startUs = nowUs;
    source.isSending = true;
    target.isReceiving = true;
    target.openTokens += request.promptTokens + request.outputTokens;
    const totals = this.handovers;
    totals.transfers += 1;
    totals.bytes += bytes;
    totals.transferUs += endUs - nowUs;
    totals.waitUs += nowUs - handover.readyUs;
    totals.waitUsMax = Math.max(totals.waitUsMax, nowUs - handover.readyUs);
    this.#clock.at(endUs, () => this.#landed(handover, endUs));
  }

  #landed(handover: Handover, endUs: number): void {
    const { request } = handover;
    const source = this.#sources[handover.source]!;
    const target = this.#targets[handover.target]!;
    source.isSending = false;
    target.isReceiving = false;
    if (this.#open.has(request)) {
      handover.phase = "decode";
      if (!target.kv.expects(request)) this.handovers.lost += 1;
      this.#sink.onTransfer?.(request, handover.readyUs, handover.startUs, endUs);
      target.engine.scheduler.enqueue(request);
      target.engine.wake();
    } else {
      target.kv.forget(request);
      target.openTokens -= request.promptTokens + request.outputTokens;
    }
    this.#letGo(handover);
    this.#pump();
  }

  #decoded(request: EngineRequest, nowUs: number): void {
    const handover = this.#open.get(request);
    assert(handover !== undefined, "a request ends once");
    this.#open.delete(request);
    this.#targets[handover.target]!.openTokens -= request.promptTokens + request.outputTokens;
    // The decode engine has stamped when it let it in; what a caller waits for is the prefill.
    request.scheduledUs = handover.prefill.scheduledUs;
    this.#sink.onFinish(request, nowUs);
  }

  /** The source's memory is free of it, so another prompt may be let in. */
  #letGo({ source, prefill }: Handover): void {
    const { kv, engine } = this.#sources[source]!;
    kv.letGo(prefill);
    engine.wake();
  }
}

function checkBoth(engines: PoolSizes, prefill: EngineConfig, decode: EngineConfig): void {
  checkPoolSizes(engines);
  refuseStatic("prefill.scheduling", prefill.scheduling);
  refuseStatic("decode.scheduling", decode.scheduling);
  if (prefill.model === decode.model) return;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    where: "decode.model",
    expected: `the prefill's ${prefill.model}`,
    got: decode.model,
  });
}
