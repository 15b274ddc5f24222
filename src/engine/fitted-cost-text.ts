/**
 * A fitted cost as a document: the coefficients, what they were fitted on and how far they were off on requests that the
 * fit had not seen. Plain data that a config can carry; written by `manx engine fit`, read by whatever takes a cost.
 */
import { ManxError, nearestName } from "../core/index.ts";
import { COEFFICIENT_NAMES, type CoefficientName, type FittedCoefficients } from "./fitted-cost.ts";
import { wrongFields } from "./fitted-engine.ts";

export const FITTED_COST_VERSION = 1;

export interface FittedCostText {
  readonly schemaVersion: typeof FITTED_COST_VERSION;
  readonly coefficients: FittedCoefficients;
  /**
   * µs that a request takes outside of the engine's steps (network, tokenizer, front end): a replay adds it to TTFT and
   * E2E, a live server has its own. Default 0.
   */
  readonly requestUs?: number;
  readonly fittedOn: FittedOn;
  /** One for each figure that was compared; empty if there were too few requests to hold any back. */
  readonly error: readonly FitError[];
  /** The engine as it ran, by the twin's names (`fittedEngineOf`); what is not there is not known. */
  readonly engine?: Readonly<Record<string, unknown>>;
}

export interface FittedOn {
  /** Where the observations come from, for people: a file's name or a URL. */
  readonly source: string;
  /** Requests that the coefficients were chosen on; those held back do not count. */
  readonly requests: number;
  /** Coefficients that these requests say nothing of, and that were only kept loosely near the data sheet's (or 0). */
  readonly undetermined: readonly CoefficientName[];
}

export interface FitError {
  /** By request; `tpot` is the mean gap of an answer, `itl` each of its gaps, for logs that have them. */
  readonly figure: "ttft" | "tpot" | "itl" | "e2e";
  /** Requests held back, or their gaps. */
  readonly n: number;
  /** Of |predicted / observed − 1| over them, %. */
  readonly medianPercent: number;
  readonly p90Percent: number;
}

/** The text of a file as a fitted cost. @param where it came from, for the message. @throws MANX_TABLE_FORMAT */
export function parseFittedCost(text: string, where: string): FittedCostText {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "the fitted cost cannot be used",
      where,
      expected: "the JSON that manx engine fit writes",
      got: JSON.stringify(text.slice(0, 40)),
      hint: "make it with manx engine fit --output FILE",
      cause,
    });
  }
  return readFittedCost(document, where);
}

/**
 * A document that came from outside, checked: every coefficient is there, a number, and not below zero. Fields that are
 * not known are left alone.
 *
 * @param where it came from, for the message.
 * @throws MANX_TABLE_FORMAT
 */
export function readFittedCost(document: unknown, where: string): FittedCostText {
  const refuse = (expected: string, got: unknown, at = ""): never => {
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: "the fitted cost cannot be used",
      where: `${where}${at}`,
      expected,
      got: JSON.stringify(got)?.slice(0, 80) ?? "nothing",
      hint: "make it again with manx engine fit",
    });
  };
  if (!isRecord(document)) return refuse("an object", document);
  const { schemaVersion, coefficients, fittedOn, error, engine = {} } = document;
  if (schemaVersion !== FITTED_COST_VERSION) {
    refuse(`schemaVersion ${FITTED_COST_VERSION}`, schemaVersion);
  }
  if (!isRecord(coefficients)) return refuse("an object", coefficients, ": coefficients");
  for (const name of COEFFICIENT_NAMES) {
    const value = coefficients[name];
    if (!isPrice(value)) refuse(PRICE, value, `: coefficients.${name}`);
  }
  for (const name of Object.keys(coefficients)) {
    if ((COEFFICIENT_NAMES as readonly string[]).includes(name)) continue;
    const near = nearestName(name, COEFFICIENT_NAMES);
    refuse(near ?? COEFFICIENT_NAMES.join(", "), name, ": coefficients");
  }
  const { requestUs = 0 } = document;
  if (!isPrice(requestUs)) refuse(PRICE, requestUs, ": requestUs");
  if (!isRecord(fittedOn) || typeof fittedOn.source !== "string") {
    refuse("where it was fitted: a source", fittedOn, ": fittedOn");
  }
  if (!Array.isArray(error)) refuse("a list", error, ": error");
  if (!isRecord(engine)) return refuse("an object", engine, ": engine");
  for (const { field, expected } of wrongFields(engine)) {
    refuse(expected, engine[field], `: engine.${field}`);
  }
  return document as unknown as FittedCostText;
}

/** An hour: no part of a step takes as long, and sums of such parts are still exact. */
const PRICE_MAX = 3.6e9;
const PRICE = `a number from 0 to ${PRICE_MAX}`;

function isPrice(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= PRICE_MAX;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
