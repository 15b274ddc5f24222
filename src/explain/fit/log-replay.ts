/**
 * A log's arrivals and lengths through the real scheduler, priced by coefficients: what the twin says of each request that
 * the log has an answer for. Nothing measured enters; so a request whose times were held back is predicted like one that
 * never ran.
 */
import { SimClock } from "../../clock/index.ts";
import { assert, ManxError, toManxError } from "../../core/index.ts";
import {
  buildEngine,
  type CostModel,
  type Engine,
  type EngineConfig,
  type EngineRequest,
  type FittedCoefficients,
} from "../../engine/index.ts";
import type { LoggedRequest } from "./request-log.ts";
import { StepLedger } from "./step-ledger.ts";

export interface ReplayedLog {
  /** By request of the log, µs from its arrival. */
  readonly ttftUs: Float64Array;
  readonly e2eUs: Float64Array;
  /** Between its tokens, of each request that the log has gaps of. */
  readonly gapsUs: ReadonlyMap<number, readonly number[]>;
  readonly steps: number;
}

export interface LedgerReplay extends ReplayedLog {
  readonly ledger: StepLedger;
}

/** @throws MANX_REQUEST_NEVER_FITS: if the log is right, what was said of the engine is not. */
function assertHeld(engine: Engine, request: LoggedRequest): void {
  try {
    engine.assertFits(request);
  } catch (thrown) {
    const { code, what, expected, got } = toManxError(thrown);
    throw new ManxError(code, {
      what: `${what}, yet the log says that it was served`,
      where: `row ${request.row}`,
      ...(expected !== undefined && { expected }),
      ...(got !== undefined && { got }),
      hint: "say how large the engine's KV memory is, as it logs it at its start, and how many GPUs it has",
      cause: thrown,
    });
  }
}

/** Running sums of so many steps take about 160 MB. */
const STEPS_MAX = 1_000_000;

export class LogReplay {
  readonly requests: readonly LoggedRequest[];
  readonly #config: EngineConfig;

  /** @throws MANX_REQUEST_NEVER_FITS, MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
  constructor(requests: readonly LoggedRequest[], config: EngineConfig) {
    const tokens = requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
    if (tokens > STEPS_MAX) {
      throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
        what: "a log has more output tokens than a fit replays",
        expected: `at most ${STEPS_MAX}`,
        got: String(tokens),
        hint: "fit to the first requests of it with --limit",
      });
    }
    this.requests = requests;
    this.#config = config;
    const clock = new SimClock();
    const sink = { onToken: () => undefined, onFinish: () => undefined };
    const engine = buildEngine(config, { clock, sink });
    for (const request of requests) assertHeld(engine, request);
  }

  /** @param requestUs that a request takes outside of the engine's steps. */
  run(coefficients: FittedCoefficients, requestUs: number): LedgerReplay {
    const clock = new SimClock();
    const ledger = new StepLedger(coefficients, () => clock.nowUs(), 2 * STEPS_MAX);
    return { ...this.#run(clock, ledger, requestUs), ledger };
  }

  /** By any cost model, for comparing. */
  runPriced(cost: CostModel, requestUs: number): ReplayedLog {
    return this.#run(new SimClock(), cost, requestUs);
  }

  #run(clock: SimClock, cost: CostModel, requestUs: number): ReplayedLog {
    const { requests } = this;
    const ttftUs = new Float64Array(requests.length);
    const e2eUs = new Float64Array(requests.length);
    const previousUs = new Float64Array(requests.length);
    const gapsUs = new Map<number, number[]>();
    const onToken = ({ tag, generated }: EngineRequest, nowUs: number): void => {
      const place = tag as number;
      if (requests[place]!.gapsUs === undefined) return;
      if (generated === 1) gapsUs.set(place, []);
      else gapsUs.get(place)!.push(nowUs - previousUs[place]!);
      previousUs[place] = nowUs;
    };
    const onFinish = (done: EngineRequest): void => {
      const place = done.tag as number;
      ttftUs[place] = done.firstTokenUs - done.arrivedUs + requestUs;
      e2eUs[place] = done.lastTokenUs - done.arrivedUs + requestUs;
    };
    const engine = buildEngine(this.#config, { clock, cost, sink: { onToken, onFinish } });
    let next = 0;
    // One timer at a time: requests are in order of arrival.
    const submit = (): void => {
      for (; next < requests.length && requests[next]!.atUs <= clock.nowUs(); next += 1) {
        engine.submit(requests[next]!, next);
      }
      if (next < requests.length) clock.at(requests[next]!.atUs, submit);
    };
    clock.at(0, submit);
    clock.runSync();
    assert(
      ttftUs.every((us) => us > 0),
      "every request of a log ends",
    );
    return { ttftUs, e2eUs, gapsUs, steps: engine.totals.steps };
  }
}
