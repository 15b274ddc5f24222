/**
 * Values of a section from variables: `MANX_GATEWAY_LISTEN__PORT=4001` is `gateway.listen.port`. Two underscores go a
 * level down, one parts the words of a key, a number is an index into a list of the file. Texts stand as they are, all
 * else as in JSON. An empty variable counts as not set. A name that no key has is an error: it would do nothing, silently.
 */
import { ManxError, nearestName } from "../core/index.ts";
import { type ConfigPath, pathText, valueAt, withValue } from "./config-path.ts";
import type { SchemaOutline } from "./schema-outline.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** A value from outside the file, and what it was given by: `--port` or `MANX_GATEWAY_LISTEN__PORT`. */
export interface GivenValue {
  readonly path: ConfigPath;
  readonly value: unknown;
  readonly name: string;
}

/**
 * What Kubernetes sets for each service unless told not to (`enableServiceLinks`). A service named manx-gateway gives
 * MANX_GATEWAY_PORT=tcp://… and others, which nobody has written.
 */
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/;

/**
 * @param file the section as the file has it: for the lengths of its lists and the names in its maps.
 * @returns a whole object before what changes one of its keys.
 * @throws MANX_CONFIG_KEY, MANX_CONFIG_VALUE
 */
export function envValues(
  section: string,
  outline: SchemaOutline,
  env: Env,
  file: unknown,
): GivenValue[] {
  const prefix = `MANX_${screaming(section)}_`;
  const given: GivenValue[] = [];
  // A list that one variable gives as a whole may have its elements changed by others.
  let root = file;
  for (const [name, text] of variablesOf(env, prefix)) {
    const path = findPath(name, prefix, outline, root);
    const value = readValue(name, text, outline.typesAt(path), section, path);
    root = withValue(root, path, value);
    given.push({ path, value, name });
  }
  return given;
}

/** Those of the section that somebody has set, by depth and name. */
function variablesOf(env: Env, prefix: string): [string, string][] {
  const set = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, text] = entry;
    if (!name.startsWith(prefix) || text === undefined || text === "") return false;
    return !SERVICE_LINK.test(name) && !/^(tcp|udp):\/\//.test(text);
  });
  const depth = (name: string): number => name.split("__").length;
  return set.sort(([a], [b]) => depth(a) - depth(b) || (a < b ? -1 : 1));
}

function findPath(name: string, prefix: string, outline: SchemaOutline, file: unknown): ConfigPath {
  const path: (string | number)[] = [];
  let before = prefix;
  for (const part of name.slice(prefix.length).split("__")) {
    const here = valueAt(file, path);
    const steps = stepsAt(path, outline, here);
    const step = steps.find((one) => screaming(String(one)) === part);
    if (step === undefined) throw unknownName(name, before, steps);
    path.push(step);
    before += `${part}__`;
  }
  return path;
}

function stepsAt(path: ConfigPath, outline: SchemaOutline, here: unknown): (string | number)[] {
  if (Array.isArray(here)) return here.map((_, index) => index);
  const known = outline.namesAt(path);
  if (known.length > 0 || typeof here !== "object" || here === null) return known;
  // A map: its names are the file's own.
  return Object.keys(here);
}

function unknownName(name: string, before: string, steps: readonly (string | number)[]): ManxError {
  const names = steps.map((step) => `${before}${screaming(String(step))}`);
  const near = nearestName(name, names);
  return new ManxError("MANX_CONFIG_KEY", {
    what: "a variable names a key that the configuration does not have",
    where: name,
    expected:
      names.length === 0 ? `nothing below ${before.slice(0, -2)}` : `one of ${names.join(", ")}`,
    ...(near !== undefined && { hint: `did you mean ${near}?` }),
  });
}

function readValue(
  name: string,
  text: string,
  types: ReadonlySet<string>,
  section: string,
  path: ConfigPath,
): unknown {
  const isText = types.has("string");
  const isOther = types.size > (isText ? 1 : 0);
  if (isText && !isOther) return text;
  try {
    const value: unknown = JSON.parse(text);
    // Where a text is allowed, `[` and `{` alone begin something else, beside numbers and words of JSON.
    if (typeof value !== "string" && types.has(typeOf(value))) return value;
    if (Number.isInteger(value) && types.has("integer")) return value;
  } catch {
    // Not JSON: a text, or an error.
  }
  if (isText) return text;
  throw new ManxError("MANX_CONFIG_VALUE", {
    what: `invalid ${pathText([section, ...path])}`,
    where: name,
    expected: `${[...types].join(" or ")}, written as in JSON`,
  });
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** `firstContent` and `first-content` → FIRST_CONTENT. */
function screaming(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase();
}
