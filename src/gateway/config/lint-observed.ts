/** What the policies of a configuration would do to the calls that its models really have. */
import type { ConfigPath } from "../../config/index.ts";
import { lintCallPolicy, type PolicyFault } from "../../policy/index.ts";
import type { GatewayConfig } from "./gateway-config.ts";
import type { ObservedCalls } from "./observed-calls.ts";
import type { WrittenReader } from "./written-reader.ts";

/** Where what is wrong can be mended. What a policy's own numbers say is told without any calls. */
const PLACES: Readonly<Partial<Record<PolicyFault, ConfigPath>>> = {
  "timeout-within-p90": ["timeouts", "firstContent"],
  "retries-what-is-slow": ["timeouts", "firstContent"],
};

/** Adds an error for what makes things worse than no retries at all, else a warning. */
export function lintObserved(
  reader: WrittenReader,
  config: GatewayConfig,
  observed: ObservedCalls,
): void {
  for (const { name, policy, targets } of config.models) {
    const latenciesUs = observed.get(name);
    if (latenciesUs === undefined) continue;
    const options = { latenciesUs, targets: targets.length };
    for (const { code, level, what, figure, advice } of lintCallPolicy(
      config.policies[policy]!,
      options,
    )) {
      const place = PLACES[code];
      if (place === undefined) continue;
      const path: ConfigPath = ["policies", policy, ...place];
      const parts = { what: `model ${name}: ${what}`, got: figure, hint: advice };
      if (level === "error") reader.fail(path, parts);
      else reader.notice("warning", path, parts);
    }
  }
}
