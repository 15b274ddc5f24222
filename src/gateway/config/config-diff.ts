/** What two configurations differ in, and what of it can be had without a restart. */
import { Secret } from "../../config/index.ts";
import type { GatewayConfig } from "./gateway-config.ts";

export interface ConfigDiff {
  /** Paths that differ and can be changed while streams are open: `upstreams.openai.connections`. Sorted. */
  readonly live: readonly string[];
  /** Paths that differ and are fixed at the start: sockets that are listened on, and what is shared over them. */
  readonly restart: readonly string[];
}

/** A change of one of these, or below it, needs a restart. */
const FIXED: readonly string[] = [
  "listen",
  "admin.host",
  "admin.port",
  "state",
  "limits.headBytes",
  "limits.clients",
];

export function diffConfig(before: GatewayConfig, after: GatewayConfig): ConfigDiff {
  const old = leavesOf(before);
  const now = leavesOf(after);
  const changed = [...new Set([...old.keys(), ...now.keys()])].filter(
    (path) => !isSame(old.get(path), now.get(path)),
  );
  const isFixed = (path: string): boolean => {
    // The port of operators opens and closes only as a whole.
    if (path === "admin") return true;
    return FIXED.some((fixed) => path === fixed || path.startsWith(`${fixed}.`));
  };
  return {
    live: changed.filter((path) => !isFixed(path)).sort(),
    restart: changed.filter(isFixed).sort(),
  };
}

/** Each plain value by its path. Elements of lists are told apart by their name, so that their order alone is no change. */
function leavesOf(root: unknown): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null || value instanceof Secret) {
      leaves.set(path, value);
      return;
    }
    const entries = Array.isArray(value)
      ? value.map((one, index): [string, unknown] => [nameOf(one) ?? String(index), one])
      : Object.entries(value);
    // An empty group is a value too: null → {} is a change.
    if (entries.length === 0) leaves.set(path, Array.isArray(value) ? "[]" : "{}");
    for (const [step, one] of entries) visit(one, path === "" ? step : `${path}.${step}`);
  };
  visit(root, "");
  return leaves;
}

function nameOf(one: unknown): string | undefined {
  if (typeof one !== "object" || one === null) return undefined;
  const { name, id } = one as { name?: unknown; id?: unknown };
  const text = name ?? id;
  return typeof text === "string" ? text : undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Secret && b instanceof Secret) {
    return a.reference === b.reference && a.equals(b);
  }
  return Object.is(a, b);
}
