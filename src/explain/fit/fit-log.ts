/**
 * `manx engine fit --log`: from a log of requests to prices of steps, with the error on requests that the fit has not
 * seen. The log is cut into blocks by time; each block is predicted by a fit that looked at all others' times and never at
 * its own (the twin knows arrivals and lengths of all, measured times of none). The prices that are handed out are fitted
 * to all of it.
 */
import { ManxError } from "../../core/index.ts";
import { type CostModel, costOf, type EngineConfig, FittedCost } from "../../engine/index.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { type FitOutcome, type FitState, fitCoefficients } from "./fit-coefficients.ts";
import { type FigureError, type FigureQuantile, FitComparison } from "./fit-error.ts";
import { CHOICE_REPLAYS, chooseStrength, type UnsprungTask } from "./fit-strength.ts";
import { LogEvidence } from "./log-evidence.ts";
import { LogReplay } from "./log-replay.ts";
import type { LoggedRequest } from "./request-log.ts";
import { nearestCoefficients } from "./start-coefficients.ts";

export interface FitLogOptions {
  readonly requests: readonly LoggedRequest[];
  /** The engine as it was run. Its cost is the data sheet's that the fit starts from and is compared with. */
  readonly config: EngineConfig;
  /** Bound on the work of one fit; there is one of the whole log and one for each block, each with a choice. */
  readonly replaysMax: number;
  /** Waited for after each replay. */
  readonly onProgress?: (text: string, share: number) => Promise<void> | void;
}

export interface LogFit extends FitState {
  /** By coefficient, with what the log says of it. */
  readonly findings: readonly Finding[];
  /** On requests that were not seen; empty if there were too few to hold any back. */
  readonly error: readonly FigureError[];
  readonly quantiles: readonly FigureQuantile[];
  /** Of the data sheet's twin on the same requests. */
  readonly sheetError: readonly FigureError[];
  readonly sheetQuantiles: readonly FigureQuantile[];
  readonly blocks: number;
  readonly replays: number;
}

const REQUESTS_MIN = 10;
/** Fewer requests than this in a block say nothing about it. */
const BLOCK_MIN = 10;
const BLOCKS_MAX = 4;

/** @throws MANX_CONFIG_IMPOSSIBLE (too few requests, too many tokens), MANX_REQUEST_NEVER_FITS, MANX_NAME_UNKNOWN */
export async function fitLog(options: FitLogOptions): Promise<LogFit> {
  const { requests, config } = options;
  if (requests.length < REQUESTS_MIN) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: "too few requests to fit an engine to",
      expected: `at least ${REQUESTS_MIN}, better several hundred`,
      got: String(requests.length),
    });
  }
  const some = Math.min(BLOCKS_MAX, Math.floor(requests.length / BLOCK_MIN));
  const blocks = some < 2 ? 0 : some;
  const fits = new Fits(options, 1 + blocks);
  const twin = new FitComparison();
  const byBlock: SprungFit[] = [];
  for (let block = 0; block < blocks; block += 1) {
    const isHeldBack = (i: number): boolean => Math.floor((i * blocks) / requests.length) === block;
    const fit = await fits.fit(`all but block ${block + 1} of ${blocks}`, (i) => !isHeldBack(i));
    byBlock.push(fit);
    fits.compare(new FittedCost(fit.coefficients), fit.requestUs, isHeldBack, twin);
  }
  const all = await fits.fit(
    "all requests",
    everyone,
    middleOf(byBlock.map(({ strength }) => strength)),
  );
  const untouched = new FitComparison();
  fits.compare(costOf(config), 0, everyone, untouched);
  const { start } = fits;
  return {
    coefficients: all.coefficients,
    requestUs: all.requestUs,
    findings: findingsOf({ all, byBlock, start }),
    error: twin.errors(),
    quantiles: twin.quantiles(),
    sheetError: untouched.errors(),
    sheetQuantiles: untouched.quantiles(),
    blocks: byBlock.length,
    replays: fits.replays,
  };
}

function everyone(): boolean {
  return true;
}

/** The middle one, of an even number the larger; undefined of none. */
function middleOf(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

interface SprungFit extends FitOutcome {
  readonly strength: number;
}

/** All fits of one log: what they share, and how far they are. */
class Fits {
  readonly start: FitState;
  readonly #options: FitLogOptions;
  readonly #replay: LogReplay;
  readonly #count: number;
  #begun = 0;
  replays = 0;

  /** @param count of the fits that are to come, for progress. */
  constructor(options: FitLogOptions, count: number) {
    this.#options = options;
    this.#count = count;
    this.#replay = new LogReplay(options.requests, options.config);
    const coefficients = nearestCoefficients(costOf(options.config));
    this.start = { coefficients, requestUs: 0 };
  }

  /** @param strength of the draw to the data sheet; by default what the requests seen choose. */
  async fit(
    name: string,
    seen: (request: number) => boolean,
    strength?: number,
  ): Promise<SprungFit> {
    const { replaysMax, onProgress } = this.#options;
    const before = this.#begun / this.#count;
    let replays = 0;
    const task: UnsprungTask = {
      evidence: new LogEvidence(this.#replay, seen),
      start: this.start,
      replaysMax,
      onReplay: async (loss) => {
        replays += 1;
        const text = `fit ${name}: replay ${replays}, off by ${(100 * loss).toFixed(1)} %`;
        const share = Math.min(1, replays / (replaysMax + CHOICE_REPLAYS));
        await onProgress?.(text, before + share / this.#count);
      },
    };
    const choice = strength === undefined ? await chooseStrength(task) : { strength, replays: 0 };
    const outcome = await fitCoefficients({ ...task, strength: choice.strength });
    this.#begun += 1;
    this.replays += choice.replays + outcome.replays;
    return { ...outcome, strength: choice.strength };
  }

  compare(
    cost: CostModel,
    requestUs: number,
    counts: (request: number) => boolean,
    into: FitComparison,
  ): void {
    const twin = this.#replay.runPriced(cost, requestUs);
    for (const [i, request] of this.#options.requests.entries()) {
      if (!counts(i)) continue;
      const gapsUs = twin.gapsUs.get(i);
      into.add(request, {
        ttftUs: twin.ttftUs[i]!,
        e2eUs: twin.e2eUs[i]!,
        ...(gapsUs !== undefined && { gapsUs }),
      });
    }
  }
}
