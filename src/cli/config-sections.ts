/** The sections of a configuration file: what checks each, loaded when it is asked for. */
import type { Env, JsonSchema, SectionName, Setting } from "../config/index.ts";
import { type ManxError, toManxError } from "../core/index.ts";

export interface CheckedSection {
  readonly errors: readonly ManxError[];
  readonly notices: readonly { readonly level: "warning" | "note"; readonly error: ManxError }[];
  /** Each value in effect; none if there are errors. */
  readonly settings: readonly Setting[];
  /** What the access log had to say of it. */
  readonly observed?: { readonly calls: number; readonly models: number };
}

export interface SectionCheck {
  /** Undefined for variables and defaults alone. */
  readonly path: string | undefined;
  readonly env: Env;
  /** Also read each secret that the configuration names. */
  readonly secrets: boolean;
  /** An access log of the gateway, for its policies to be held against. */
  readonly observed?: { readonly path: string; readonly text: string } | undefined;
}

const CHECKS: Readonly<Record<SectionName, (check: SectionCheck) => Promise<CheckedSection>>> = {
  engine: checkEngine,
  gateway: checkGateway,
};

export const SECTION_NAMES = Object.keys(CHECKS) as readonly SectionName[];

export function checkSectionOf(name: SectionName, check: SectionCheck): Promise<CheckedSection> {
  return CHECKS[name](check);
}

/** The JSON Schema of a whole file. */
export async function fileJsonSchema(): Promise<JsonSchema> {
  const { configJsonSchema } = await import("../config/index.ts");
  const { engineSchema } = await import("../engine-server/index.ts");
  const { gatewaySchema } = await import("../gateway/config/index.ts");
  return configJsonSchema({ engine: engineSchema, gateway: gatewaySchema });
}

async function checkEngine({ path, env }: SectionCheck): Promise<CheckedSection> {
  const { checkConfig } = await import("../config/index.ts");
  const { engineSchema, engineSetup } = await import("../engine-server/index.ts");
  const { config, errors } = await checkConfig(path, {
    section: "engine",
    schema: engineSchema,
    env,
  });
  if (config === undefined) return { errors, notices: [], settings: [] };
  try {
    const { section } = await engineSetup(config);
    return { errors: [], notices: [], settings: section.settings() };
  } catch (thrown) {
    return { errors: [toManxError(thrown)], notices: [], settings: [] };
  }
}

async function checkGateway({
  path,
  env,
  secrets,
  observed,
}: SectionCheck): Promise<CheckedSection> {
  const { checkGatewayConfig, missingSecrets, readObservedCalls } = await import(
    "../gateway/config/index.ts"
  );
  const calls = observed && readObservedCalls(observed.text, observed.path);
  const checked = await checkGatewayConfig(path, { env, observed: calls });
  if (checked.config === undefined) return { errors: checked.errors, notices: [], settings: [] };
  const missing = secrets ? missingSecrets(checked.config) : [];
  const section = { errors: missing, notices: checked.notices, settings: checked.settings() };
  if (calls === undefined) return section;
  const known = checked.config.models.flatMap(({ name }) => calls.get(name) ?? []);
  const models = checked.config.models.filter(({ name }) => calls.has(name));
  return { ...section, observed: { calls: known.length, models: models.length } };
}
