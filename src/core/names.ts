/** Named things (GPUs, models, policies, flags): look up, or say what is supported and what is nearest. */
import { closest, distance } from "fastest-levenshtein";
import { ManxError } from "./manx-error.ts";

/**
 * The name in `names` that is nearest to `got`: one that begins with it, otherwise the one with the fewest changes, unless
 * more than half of it would have to change; otherwise one that nearly begins with it.
 */
export function nearestName(got: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const wanted = got.toLowerCase();
  const lowered = names.map((name) => name.toLowerCase());
  const longer = lowered.findIndex((name) => wanted.length >= 2 && name.startsWith(wanted));
  if (longer >= 0) return names[longer];
  const best = lowered.indexOf(closest(wanted, lowered));
  const allowed = Math.max(1, Math.floor(got.length / 2));
  if (distance(wanted, lowered[best]!) <= allowed) return names[best];
  // Long names are cut short when they are typed from memory, and misspelt at that.
  const changes = lowered.map((name) =>
    Math.min(...[0, 1].map((more) => distance(wanted, name.slice(0, wanted.length + more)))),
  );
  const fewest = Math.min(...changes);
  return fewest <= wanted.length / 4 ? names[changes.indexOf(fewest)] : undefined;
}

/**
 * @param kind what the names are of, such as `GPU`.
 * @param where the flag or field that holds the name, if the caller knows it.
 * @throws MANX_NAME_UNKNOWN with the nearest name and the whole list.
 */
export function lookUp<Value>(
  table: Readonly<Record<string, Value>>,
  name: string,
  kind: string,
  where?: string,
): Value {
  if (Object.hasOwn(table, name)) return table[name] as Value;
  const names = Object.keys(table);
  const near = nearestName(name, names);
  throw new ManxError("MANX_NAME_UNKNOWN", {
    what: `unknown ${kind}`,
    ...(where !== undefined && { where }),
    expected: `one of ${names.join(", ")}`,
    got: JSON.stringify(name),
    ...(near !== undefined && { hint: `did you mean "${near}"?` }),
  });
}
