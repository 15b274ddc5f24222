/** A configuration as its operators may see it: secrets and hashes hidden, what has no limit said so. */
import { Secret } from "../../config/index.ts";
import type { GatewayConfig } from "../config/index.ts";

const HIDDEN = "***";

export function shownConfig(config: GatewayConfig): unknown {
  return shown(config, "");
}

function shown(value: unknown, name: string): unknown {
  if (name === "hash" || value instanceof Secret) return HIDDEN;
  // JSON has no word for it, and null would read as "off".
  if (value === Number.POSITIVE_INFINITY) return "none";
  if (Array.isArray(value)) return value.map((one) => shown(one, ""));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one, key)]));
}
