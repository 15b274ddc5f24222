/**
 * Where a fit starts and rests: the eight numbers that come nearest to another cost model over steps of every kind. For a
 * log that says nothing of long prompts, what long prompts cost stays what the data sheet says.
 */
import {
  Batch,
  type CostModel,
  type FittedCoefficients,
  fittedTerms,
  LINEAR_COEFFICIENTS,
} from "../../engine/index.ts";
import { BENDS } from "./bends.ts";
import { LeastSquares } from "./least-squares.ts";

const PROMPTS = [
  [],
  [[64, 0]],
  [[256, 0]],
  [[1_024, 0]],
  [[2_048, 0]],
  [[512, 3_584]],
  [[64, 16_000]],
  [[2_048, 16_000]],
  [
    [512, 0],
    [512, 1_024],
  ],
] as const satisfies readonly (readonly (readonly [number, number])[])[];
const ANSWERS = [0, 1, 8, 32, 128, 256] as const;
const CONTEXTS = [256, 2_048] as const;

/** Enough for the solver to have a bound where the steps do not matter; too little to be seen in the result. */
const SPRING = 1e-9;

/** A step's batch by sums alone. */
function batchOf(
  prompts: readonly (readonly [number, number])[],
  answers: number,
  context: number,
): Batch {
  const batch = new Batch();
  for (const [tokens, computed] of prompts) batch.countPrefill(tokens, computed);
  for (let i = 0; i < answers; i += 1) batch.countDecode(context);
  return batch;
}

function stepsOfEveryKind(): Batch[] {
  return PROMPTS.flatMap((prompts) =>
    ANSWERS.flatMap((answers) =>
      answers === 0
        ? [batchOf(prompts, 0, 0)]
        : CONTEXTS.map((context) => batchOf(prompts, answers, context)),
    ),
  ).filter((batch) => batch.tokens > 0);
}

/** @param cost one that prices sums and not single requests, as the roofline does. */
export function nearestCoefficients(cost: CostModel): FittedCoefficients {
  const steps = stepsOfEveryKind().map((batch) => ({ batch, us: cost.stepUs(batch) }));
  let best: FittedCoefficients | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const freeTokens of BENDS) {
    const problem = new LeastSquares(LINEAR_COEFFICIENTS.length);
    const rows = steps.map(({ batch, us }) => ({ us, terms: fittedTerms(batch, freeTokens) }));
    for (const { us, terms } of rows) problem.add(Float64Array.from(terms), us, 1 / us ** 2);
    const found = problem.solve({
      rest: LINEAR_COEFFICIENTS.map(() => 0),
      scale: LINEAR_COEFFICIENTS.map(() => 1),
      strength: SPRING,
    });
    const off = problem.squares(found);
    if (off >= least) continue;
    least = off;
    best = coefficientsOf(found, freeTokens);
  }
  return best!;
}

/** @param linear in the order of `LINEAR_COEFFICIENTS`. */
export function coefficientsOf(linear: readonly number[], freeTokens: number): FittedCoefficients {
  const named = Object.fromEntries(LINEAR_COEFFICIENTS.map((name, i) => [name, linear[i]!]));
  return { ...(named as Omit<FittedCoefficients, "freeTokens">), freeTokens };
}
