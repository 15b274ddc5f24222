/** From a file, variables and flags to the gateway's configuration, or to everything that is wrong with it. */
import {
  type CheckedConfig,
  checkConfig,
  checkSection,
  type Env,
  firstOf,
  type GivenValue,
  type Setting,
} from "../../config/index.ts";
import type { ManxError } from "../../core/index.ts";
import { checkGateway } from "./gateway-checks.ts";
import type { GatewayConfig } from "./gateway-config.ts";
import { lintGateway } from "./gateway-lint.ts";
import { gatewaySchema, type WrittenGateway } from "./gateway-schema.ts";
import { lintObserved } from "./lint-observed.ts";
import type { ObservedCalls } from "./observed-calls.ts";
import { resolveGateway } from "./resolve-gateway.ts";
import { type Notice, WrittenReader } from "./written-reader.ts";

export interface ReadGatewayOptions {
  readonly env?: Env;
  /** Values of flags, by path within the section. */
  readonly flags?: readonly GivenValue[];
  /** What the file says, where somebody has read it already. */
  readonly text?: string | undefined;
  /** What calls of its models took: policies are held against it. */
  readonly observed?: ObservedCalls | undefined;
}

export interface ReadGateway {
  readonly config: GatewayConfig;
  readonly notices: readonly Notice[];
  /** Each value in effect with its source, for `manx config print`. */
  readonly settings: () => Setting[];
}

export type CheckedGateway =
  | (ReadGateway & { readonly errors: readonly [] })
  | { readonly config: undefined; readonly errors: readonly ManxError[] };

/**
 * @param path of the file; undefined for variables, flags and defaults alone.
 * @throws MANX_FILE_UNREADABLE, MANX_CONFIG_SYNTAX, MANX_CONFIG_KEY, MANX_CONFIG_VALUE: the first of all errors.
 */
export async function readGatewayConfig(
  path: string | undefined,
  options: ReadGatewayOptions = {},
): Promise<ReadGateway> {
  return orFirstError(await checkGatewayConfig(path, options));
}

/** Like `readGatewayConfig`, with every error instead of the first. Secrets are not read. */
export async function checkGatewayConfig(
  path: string | undefined,
  { env = {}, flags = [], text, observed }: ReadGatewayOptions = {},
): Promise<CheckedGateway> {
  const options = { section: "gateway", schema: gatewaySchema, env, flags, text } as const;
  return complete(await checkConfig(path, options), env, observed);
}

/**
 * What `manx gateway --upstream URL` runs by: one upstream, all names of models, the defaults.
 * @param flags further ones, such as `{path: ["listen", "port"], value: 4001, name: "--port"}`.
 * @throws MANX_CONFIG_VALUE, MANX_CONFIG_KEY, naming the flag or the variable.
 */
export function configFromUpstream(
  url: string,
  flags: readonly GivenValue[] = [],
  env: Env = {},
): ReadGateway {
  const upstream = {
    path: ["upstreams"],
    value: [{ name: "upstream", url, format: "any" }],
    name: "--upstream",
  };
  const options = {
    section: "gateway",
    schema: gatewaySchema,
    env,
    flags: [upstream, ...flags],
  } as const;
  return orFirstError(complete(checkSection(undefined, options), env));
}

function complete(
  checked: CheckedConfig<WrittenGateway>,
  env: Env,
  observed?: ObservedCalls,
): CheckedGateway {
  if (checked.config === undefined) return { config: undefined, errors: checked.errors };
  const section = checked.config;
  const reader = new WrittenReader(section, env);
  const config = resolveGateway(reader);
  checkGateway(reader, config);
  if (observed !== undefined) lintObserved(reader, config, observed);
  if (reader.errors.length > 0) return { config: undefined, errors: reader.errors };
  lintGateway(reader, config);
  return { config, notices: reader.notices, settings: () => section.settings(), errors: [] };
}

function orFirstError(checked: CheckedGateway): ReadGateway {
  if (checked.config === undefined) throw firstOf(checked.errors);
  return checked;
}
