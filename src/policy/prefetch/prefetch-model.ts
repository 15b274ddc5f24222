/** What a `PatternMiner` has learnt as versioned JSON: written by one process, read by another, checked in full. */
import { ManxError } from "../../core/index.ts";
import { placesOf } from "./argument-shape.ts";
import { FollowPattern, type PatternShape, type SourceCounts } from "./follow-pattern.ts";
import { isRecord } from "./json-pointer.ts";
import { type PatternContext, PatternMiner } from "./pattern-miner.ts";

export interface PrefetchModel {
  readonly schemaVersion: 1;
  readonly kind: "prefetch-model";
  readonly turns: number;
  readonly contexts: readonly {
    readonly after: string;
    readonly seen: number;
    readonly next: readonly {
      readonly call: string;
      readonly came: number;
      readonly tries: number;
      readonly hits: number;
      readonly shapes: readonly {
        readonly shape: string;
        readonly count: number;
        /** One per value: `=json`, `input:/pointer`, `result:tool#0:/pointer`, `args:tool#0:/pointer`. */
        readonly values: readonly Readonly<Record<string, number>>[];
      }[];
    }[];
  }[];
}

const SCHEMA_VERSION = 1;
/** More than a miner ever keeps. */
const ITEMS_MAX = 1_024;
const TEXT_CHARS_MAX = 32 * 1024 * 1024;
const CALL = /^[a-zA-Z0-9_-]{1,64}#\d{1,4}$/;
const SOURCE = /^(=|input:|(result|args):[a-zA-Z0-9_-]{1,64}#\d{1,4}:)/;

export function modelOf({ contexts, turns }: PatternMiner): PrefetchModel {
  return {
    schemaVersion: SCHEMA_VERSION,
    kind: "prefetch-model",
    turns,
    contexts: [...contexts].map(([after, { seen, next }]) => ({
      after,
      seen,
      next: [...next].map(([call, { came, tries, hits, shapes }]) => ({
        call,
        came,
        tries,
        hits,
        shapes: [...shapes].map(([shape, { count, values }]) => ({
          shape,
          count,
          values: values.map((sources) => Object.fromEntries(sources)),
        })),
      })),
    })),
  };
}

/** @param model JSON text or parsed. @throws MANX_PREFETCH_MODEL */
export function minerOf(model: unknown): PatternMiner {
  const value = typeof model === "string" ? parsed(model) : model;
  if (!isRecord(value)) throw bad("$", "an object", typeof value);
  const { schemaVersion, kind, turns, contexts } = value;
  if (kind !== "prefetch-model") throw bad("kind", '"prefetch-model"', shown(kind));
  if (schemaVersion !== SCHEMA_VERSION) {
    throw bad("schemaVersion", String(SCHEMA_VERSION), shown(schemaVersion));
  }
  const known = list(contexts, "contexts").map((one, i) => contextOf(one, `contexts[${i}]`));
  return new PatternMiner(new Map(known), count(turns, "turns"));
}

function contextOf(value: unknown, where: string): [string, PatternContext] {
  const { after, seen, next } = record(value, where);
  const calls = list(next, `${where}.next`).map((one, i) => patternOf(one, `${where}.next[${i}]`));
  const name = text(after, `${where}.after`);
  return [name, { seen: count(seen, `${where}.seen`), next: new Map(calls) }];
}

function patternOf(value: unknown, where: string): [string, FollowPattern] {
  const { call, came, tries, hits, shapes } = record(value, where);
  const name = text(call, `${where}.call`);
  if (!CALL.test(name)) throw bad(`${where}.call`, 'a tool and its place, such as "read#0"', name);
  const counts = {
    came: count(came, `${where}.came`),
    tries: count(tries, `${where}.tries`),
    hits: count(hits, `${where}.hits`),
  };
  if (counts.hits > counts.tries)
    throw bad(`${where}.hits`, "no more hits than tries", shown(hits));
  const known = list(shapes, `${where}.shapes`).map((one, i) =>
    shapeFrom(one, `${where}.shapes[${i}]`),
  );
  return [name, new FollowPattern(counts, new Map(known))];
}

function shapeFrom(value: unknown, where: string): [string, PatternShape] {
  const { shape, count: times, values } = record(value, where);
  const name = text(shape, `${where}.shape`);
  const all = list(values, `${where}.values`);
  if (placesOf(name) !== all.length) {
    throw bad(`${where}.shape`, `a shape with ${all.length} places`, name.slice(0, 80));
  }
  const sources = all.map((one, i) => sourcesOf(one, `${where}.values[${i}]`));
  return [name, { count: count(times, `${where}.count`), values: sources }];
}

function sourcesOf(value: unknown, where: string): SourceCounts {
  const entries = Object.entries(record(value, where)).map(([source, times]) => {
    if (!SOURCE.test(source)) throw bad(where, "sources of values", source.slice(0, 80));
    // A constant is read again at every guess; a broken one must not wait until then.
    if (source.startsWith("=")) constant(source.slice(1), where);
    return [source, count(times, where)] as const;
  });
  return new Map(entries);
}

function constant(json: string, where: string): void {
  try {
    JSON.parse(json);
  } catch {
    throw bad(where, "a constant as JSON", json.slice(0, 80));
  }
}

function parsed(json: string): unknown {
  if (json.length > TEXT_CHARS_MAX) throw bad("$", "a model of at most 32 Mi characters", "more");
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new ManxError("MANX_PREFETCH_MODEL", { what: "a model that is no JSON", cause });
  }
}

function record(value: unknown, where: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw bad(where, "an object", shown(value));
}

function list(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value) && value.length <= ITEMS_MAX) return value;
  throw bad(where, `a list of at most ${ITEMS_MAX}`, shown(value));
}

function text(value: unknown, where: string): string {
  if (typeof value === "string" && value.length <= 2_048) return value;
  throw bad(where, "a text", shown(value));
}

function count(value: unknown, where: string): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw bad(where, "a number from 0", shown(value));
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 80);
}

function bad(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_PREFETCH_MODEL", { where, expected, got });
}
