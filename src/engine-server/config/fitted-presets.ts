/**
 * What the document of a fitted cost says of its engine, as presets of the section: whoever serves the twin of an engine by its
 * prices means that engine. What is set in the file, a variable or a flag stays as it is.
 */
import { basename } from "node:path";
import type { SectionConfig } from "../../config/index.ts";
import { type CostChoice, FITTED_FIELDS, fittedEngineOf } from "../../engine/index.ts";
import type { EngineSection } from "./engine-schema.ts";
import { pathOf } from "./error-places.ts";

/** Set to what some other lever forbids, these two are left alone: they say how near to the real engine the steps are. */
const ONLY_IF_POSSIBLE: readonly string[] = ["ahead", "admission"];

export function withFittedPresets(
  section: SectionConfig<EngineSection>,
  cost: CostChoice,
): SectionConfig<EngineSection> {
  if (cost.kind !== "fitted" || section.value.cost.kind !== "fitted") return section;
  const engine = fittedEngineOf(cost.fitted.engine);
  const known = FITTED_FIELDS.filter((field) => engine[field] !== undefined);
  const entries = known.map((field) => [String(pathOf(field)[0]), engine[field]] as const);
  const name = basename(section.value.cost.file);
  const sure = entries.filter(([key]) => !ONLY_IF_POSSIBLE.includes(key));
  const preset = section.withPresets(Object.fromEntries(sure), name);
  const { scheduling, mixing, order } = preset.value;
  const isChunked = scheduling === "chunked";
  const isPlain = isChunked && mixing === "decode-first" && order === "first-come";
  return preset.withPresets(
    {
      ...(engine.ahead !== undefined && isPlain && { ahead: engine.ahead }),
      ...(engine.admission !== undefined && isChunked && { admission: engine.admission }),
    },
    name,
  );
}
