/**
 * The engine that a cost was fitted to, as far as the document says. The prices hold for its model, GPU and ranks and for no
 * others; the rest is how it ran, which whoever takes the cost needs to be the twin of the same engine.
 */
import type { EngineConfig } from "./engine-config.ts";

export const FITTED_FIELDS = [
  "model",
  "gpu",
  "ranks",
  "scheduling",
  "sequencesMax",
  "tokensMax",
  "kvTokens",
  "ahead",
  "admission",
] as const satisfies readonly (keyof EngineConfig)[];

export type FittedField = (typeof FITTED_FIELDS)[number];

const CHECKS: Readonly<Record<FittedField, readonly [expected: string, check: Check]>> = {
  model: ["a name", isName],
  gpu: ["a name", isName],
  ranks: ["a whole number from 1", isCount],
  scheduling: [
    "chunked, continuous or static",
    (value) => value === "chunked" || value === "continuous" || value === "static",
  ],
  sequencesMax: ["a whole number from 1", isCount],
  tokensMax: ["a whole number from 1", isCount],
  kvTokens: ["a whole number from 1", isCount],
  ahead: ["true or false", (value) => typeof value === "boolean"],
  admission: ["known or step", (value) => value === "known" || value === "step"],
};

type Check = (value: unknown) => boolean;

/** Of these fields those that are there and cannot be, with what was expected. */
export function wrongFields(
  engine: Readonly<Record<string, unknown>>,
): { readonly field: FittedField; readonly expected: string }[] {
  return FITTED_FIELDS.flatMap((field) => {
    const [expected, check] = CHECKS[field];
    const value = engine[field];
    return value === undefined || check(value) ? [] : [{ field, expected }];
  });
}

/**
 * Of the document's description these fields, as far as they are there. The description has levers, too, in words that no
 * config knows.
 *
 * @param engine whose fields have been found right (`readFittedCost`).
 */
export function fittedEngineOf<Field extends FittedField = FittedField>(
  engine: Readonly<Record<string, unknown>> | undefined,
  fields: readonly Field[] = FITTED_FIELDS as readonly FittedField[] as readonly Field[],
): Partial<Pick<EngineConfig, Field>> {
  const known = fields.filter((field) => engine?.[field] !== undefined);
  const entries = known.map((field) => [field, engine?.[field]]);
  return Object.fromEntries(entries) as Partial<Pick<EngineConfig, Field>>;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
