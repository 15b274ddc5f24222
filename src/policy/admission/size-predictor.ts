/**
 * How long an answer will be: a high quantile of the route's recent answers, at most what the request allows. A limit
 * alone says little, since many clients send the largest one or none at all.
 *
 * Recent means that counts are halved whenever they reach `WINDOW`: an answer weighs half after that many, and a quarter
 * after twice as many. Buckets are a quarter of an octave wide, so a prediction is within 9 % of the quantile.
 */
import { assert } from "../../core/index.ts";

export interface SizePredictorOptions {
  /** Which quantile of the past is predicted, 0 to 1. Default 0.9: a short lane is for what is short nine times in ten. */
  readonly quantile?: number;
  /** Of a route with less than 20 answers on record, tokens. Default 512. */
  readonly unknownTokens?: number;
  /** Most routes remembered; the one used longest ago is forgotten. Default 256. */
  readonly routesMax?: number;
}

const PER_OCTAVE = 4;
const OCTAVES = 21;
const BUCKETS = PER_OCTAVE * OCTAVES;
const WINDOW = 512;
const SAMPLES_MIN = 20;

class RouteHistory {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #quantile: number;
  #total = 0;
  #samples = 0;
  #predicted = 0;

  constructor(quantile: number) {
    this.#quantile = quantile;
  }

  /** Undefined as long as it has seen too little. Worked out when something is recorded, since that is rarer. */
  get predicted(): number | undefined {
    return this.#samples < SAMPLES_MIN ? undefined : this.#predicted;
  }

  record(tokens: number): void {
    const bucket = Math.min(BUCKETS - 1, Math.floor(Math.log2(Math.max(1, tokens)) * PER_OCTAVE));
    this.#counts[bucket]! += 1;
    this.#total += 1;
    this.#samples += 1;
    if (this.#total >= WINDOW) this.#halve();
    this.#predicted = this.#read();
  }

  #halve(): void {
    for (let i = 0; i < BUCKETS; i += 1) this.#counts[i]! /= 2;
    this.#total /= 2;
  }

  #read(): number {
    const wanted = this.#total * this.#quantile;
    let seen = 0;
    let bucket = -1;
    while (seen < wanted && bucket < BUCKETS - 1) {
      bucket += 1;
      seen += this.#counts[bucket]!;
    }
    return Math.round(2 ** ((Math.max(0, bucket) + 0.5) / PER_OCTAVE));
  }
}

export class SizePredictor {
  readonly #quantile: number;
  readonly #unknownTokens: number;
  readonly #routesMax: number;
  /** In the order of last record. */
  readonly #routes = new Map<string, RouteHistory>();
  /** The last of them. */
  #newest: string | undefined;

  constructor(options: SizePredictorOptions = {}) {
    this.#quantile = options.quantile ?? 0.9;
    this.#unknownTokens = options.unknownTokens ?? 512;
    this.#routesMax = options.routesMax ?? 256;
    assert(this.#quantile > 0 && this.#quantile <= 1, "a quantile lies between 0 and 1");
    assert(this.#unknownTokens >= 1 && this.#routesMax >= 1, "a guess and a route at least");
  }

  /** Routes on record. */
  get size(): number {
    return this.#routes.size;
  }

  /** Tokens of the answer. */
  predict(route: string, outputTokensMax: number | undefined): number {
    const guess = this.#routes.get(route)?.predicted ?? this.#unknownTokens;
    return outputTokensMax === undefined ? guess : Math.min(guess, outputTokensMax);
  }

  /** A whole answer; not one that was cut off, which would say that answers are short. */
  record(route: string, outputTokens: number): void {
    let history = this.#routes.get(route);
    if (history === undefined) {
      if (this.#routes.size >= this.#routesMax) {
        this.#routes.delete(this.#routes.keys().next().value!);
      }
      history = new RouteHistory(this.#quantile);
      this.#routes.set(route, history);
    } else if (route !== this.#newest) {
      this.#routes.delete(route);
      this.#routes.set(route, history);
    }
    this.#newest = route;
    history.record(outputTokens);
  }
}
