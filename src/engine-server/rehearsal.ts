/**
 * Before a server promises a pace: the same scheduler, run dry on this host for a few steps, and how long the host takes
 * for what the priced GPU would do meanwhile.
 *
 *     load = (scheduler, text, and a write for each answer; all engines on one thread) / (price of the step / speed)
 *
 * A load above 1 for a single answer is refused: no traffic at all could be served at that pace. Above `LOAD_MAX` for a
 * full batch, or with steps finer than the host's timers, it is a warning: light traffic may be fine.
 */
import { type Clock, SimClock } from "../clock/index.ts";
import { ManxError, US_PER_MS } from "../core/index.ts";
import { buildServing, type CostModel, costOf, type EngineConfig } from "../engine/index.ts";
import { Answer } from "./answer.ts";
import { type CallRequest, parseChatRequest } from "./call-request.ts";
import { ChatForm } from "./response-form.ts";
import { socketWriteUs } from "./socket-cost.ts";

export interface RehearsalOptions {
  readonly config: EngineConfig;
  readonly speed: number;
  /** The host's. */
  readonly clock: Clock;
  readonly replicas?: number;
  readonly cost?: CostModel;
}

interface Rehearsal {
  /** Answers under way at a time. */
  readonly answers: number;
  /** On the host: how long a step of all engines takes to work out, and how long it may take at this speed. */
  readonly hostUs: number;
  readonly stepUs: number;
  readonly load: number;
}

/** Share of a step that may be used up; the rest is for requests that come in, and for clients on the same host. */
const LOAD_MAX = 0.8;
const STEPS = 24;
/** The first time around code is slow, and a busy host is slow now and then: the best of several is the host. */
const TRIES = 4;
const OUTPUT_TOKENS = 4 * STEPS;
/** About what a chunk of a chat completion has. */
const CHUNK_CHARS = 230;
/** Bounds the time that a start takes. */
const ANSWERS_MAX = 512;
/** Node's timers count whole milliseconds. */
const TIMER_US = US_PER_MS;

/** @returns what to be warned of, with the figures. @throws MANX_CONFIG_IMPOSSIBLE where the pace can never be kept */
export async function rehearse(options: RehearsalOptions): Promise<string[]> {
  const { speed, replicas = 1 } = options;
  // Engines of pools are as many more; which of them computes what is no matter here.
  const { pools, ...config } = options.config;
  const engines = pools === undefined ? replicas : pools.prefill + pools.decode;
  const cost = options.cost ?? costOf(config);
  const writeUs = await socketWriteUs(options.clock, "x".repeat(CHUNK_CHARS));
  const common = { ...options, config, cost, writeUs };
  const alone = perform({ ...common, answers: 1, engines: 1 });
  const answers = Math.min(config.sequencesMax, ANSWERS_MAX);
  const full = perform({ ...common, answers, engines });
  const ms = (us: number): string => `${Number((us / US_PER_MS).toPrecision(2))} ms`;
  if (alone.load > 1) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: "a pace that this host cannot keep for a single answer",
      where: "speed",
      expected: `a step worked out within ${ms(alone.stepUs)}`,
      got: `${ms(alone.hostUs)} for each`,
      hint: `take a speed of at most ${atMost(speed / alone.load)}`,
    });
  }
  const warnings: string[] = [];
  if (full.load > LOAD_MAX) {
    warnings.push(
      `with ${full.answers} answers at a time on ${engines === 1 ? "the engine" : `each of ${engines} engines`} this host needs ${ms(full.hostUs)} for a step of ${ms(full.stepUs)}: ` +
        `it can keep a speed of about ${atMost((speed * LOAD_MAX) / full.load)}, or fewer answers`,
    );
  }
  if (alone.stepUs < TIMER_US) {
    warnings.push(
      `a step of one answer takes ${ms(alone.stepUs)} at this speed and the host's timers count whole ` +
        "milliseconds: tokens will leave late and in bunches",
    );
  }
  return warnings;
}

interface Performance extends Omit<RehearsalOptions, "replicas"> {
  readonly cost: CostModel;
  readonly answers: number;
  readonly engines: number;
  readonly writeUs: number;
}

function perform({
  config,
  speed,
  clock,
  cost,
  answers,
  engines,
  writeUs,
}: Performance): Rehearsal {
  let workUs = Number.POSITIVE_INFINITY;
  let priceUs = 0;
  for (let i = 0; i < TRIES; i += 1) {
    const tried = tryOnce(config, cost, clock, answers);
    workUs = Math.min(workUs, tried.hostUs);
    priceUs = tried.priceUs;
  }
  const hostUs = engines * (workUs + answers * writeUs);
  const stepUs = priceUs / speed;
  return { answers, hostUs, stepUs, load: hostUs / stepUs };
}

/** Means over the steps, µs. */
function tryOnce(config: EngineConfig, cost: CostModel, clock: Clock, answers: number) {
  const simulated = new SimClock();
  const form = new ChatForm({ id: "chatcmpl-0", model: config.model, createdS: 0 });
  const request: CallRequest = parseChatRequest({
    messages: [{ role: "user", content: "a dry run" }],
    manx: { output_tokens: OUTPUT_TOKENS },
  });
  const answer = new Answer(request, OUTPUT_TOKENS, 0);
  let written = 0;
  const { engines, submit } = buildServing({
    clock: simulated,
    config: { ...config, pieceTokens: config.blockTokens },
    cost,
    replicas: 1,
    seed: 0,
    sink: {
      onToken: ({ generated }) => {
        written += form.chunk([answer.piece(generated - 1)]).length;
      },
      onFinish: () => undefined,
    },
  });
  const shape = { promptTokens: request.prompt.tokens, outputTokens: OUTPUT_TOKENS };
  for (let i = 0; i < answers; i += 1) submit(0, shape, undefined);
  // Prompts first: what is measured is the steady state of answers.
  while (written === 0 && simulated.step());
  const total = (of: "steps" | "busyUs"): number =>
    engines.reduce((sum, { totals }) => sum + totals[of], 0);
  const before = { steps: total("steps"), busyUs: total("busyUs"), us: clock.nowUs() };
  while (total("steps") - before.steps < STEPS && simulated.step());
  const steps = Math.max(1, total("steps") - before.steps);
  return {
    hostUs: (clock.nowUs() - before.us) / steps,
    priceUs: (total("busyUs") - before.busyUs) / steps,
  };
}

function atMost(speed: number): string {
  return `${Number(speed.toPrecision(2))}x`;
}
