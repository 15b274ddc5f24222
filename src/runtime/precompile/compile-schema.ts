/**
 * One JSON Schema to the source of its validator, by ajv's standalone code. Nothing is fetched: what a schema refers to has
 * to stand in it. Each schema has a compiler of its own, so that two with the same `$id` do not meet.
 *
 * The text of a schema gets into the source as literals only, which ajv escapes; names that would change an object literal
 * (`__proto__`) are refused.
 */
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import standaloneCode from "ajv/dist/standalone/index.js";
import { ManxError } from "../../core/index.ts";
import type { JsonSchema } from "../input-check.ts";
import { KNOWN_FORMATS } from "./known-formats.ts";
import { patternRisk } from "./pattern-risk.ts";
import { withoutRemarks } from "./without-remarks.ts";

export interface CompiledSchema {
  /** The body of a function: it asks `require` for helpers and sets `module.exports`. */
  readonly code: string;
  /** Names of the helpers that it asks for. */
  readonly helpers: readonly string[];
  /** What its author should know: formats that are not checked, patterns that may hang. */
  readonly notes: readonly string[];
}

const DRAFTS: ReadonlyArray<readonly [RegExp, typeof Ajv]> = [
  [/draft\/2020-12/, Ajv2020 as unknown as typeof Ajv],
  [/draft\/2019-09/, Ajv2019 as unknown as typeof Ajv],
  [/draft-0[67]/, Ajv],
];
const HELPER = /require\("([^"]+)"\)/g;
/** Where in the schema a rule stands, which nobody reads: a fifth of the text. */
const SCHEMA_PATH = /,schemaPath:"[^"\\]*"/g;
/** Stands behind each rule; the module has a function for it. */
const NOTE_ERROR =
  /if\(vErrors === null\)\{vErrors = \[(err\d+)\];\}else \{vErrors\.push\(\1\);\}/g;
const DEPTH_MAX = 200;
const CHARS_MAX = 8 * 1024 * 1024;

/** @throws MANX_SCHEMA_INVALID */
export function compileSchema(schema: JsonSchema, where: string): CompiledSchema {
  const notes = inspect(schema, where);
  const { $schema } = schema;
  const code = $schema === undefined ? withoutDraft(schema, where) : withDraft(schema, where);
  if (code.length > CHARS_MAX) {
    throw invalid(
      where,
      "a validator that is too long",
      `at most ${CHARS_MAX} characters`,
      `${code.length}`,
    );
  }
  const helpers = [...new Set([...code.matchAll(HELPER)].map(([, name]) => name!))];
  return { code, helpers, notes };
}

/** Most schemas of tools name no draft: they mean the newest one, except where only an older one reads them. */
function withoutDraft(schema: JsonSchema, where: string): string {
  try {
    return sourceOf(schema, DRAFTS[0]![1]);
  } catch (newest) {
    try {
      return sourceOf(schema, Ajv);
    } catch {
      throw uncompiled(where, newest);
    }
  }
}

function withDraft(schema: JsonSchema, where: string): string {
  const named = String(schema.$schema);
  const draft = DRAFTS.find(([name]) => name.test(named));
  if (draft === undefined) {
    const expected = "draft 06, 07, 2019-09 or 2020-12";
    throw invalid(where, "a draft of JSON Schema that is not supported", expected, named);
  }
  try {
    return sourceOf(schema, draft[1]);
  } catch (error) {
    throw uncompiled(where, error);
  }
}

function sourceOf(schema: JsonSchema, Compiler: typeof Ajv): string {
  const ajv = new Compiler({
    code: { source: true, lines: false },
    strict: false,
    // All that is wrong in one answer, so that the model need not come back for each.
    allErrors: true,
    // A property that every object inherits, such as `constructor`, is not there.
    ownProperties: true,
    formats: { ...KNOWN_FORMATS },
    // The texts are made from keyword and parameters where they are needed, not written out for each field.
    messages: false,
    validateFormats: true,
    logger: false,
  });
  const bare = withoutRemarks(schema);
  const code = standaloneCode.default(ajv, ajv.compile(bare));
  // A schema that has ajv's own words in it keeps the long form, lest its text be taken for code.
  if (/schemaPath|vErrors/.test(JSON.stringify(bare))) return code;
  return code.replace(SCHEMA_PATH, "").replace(NOTE_ERROR, "vErrors = add(vErrors, $1);");
}

/** Walks without recursion, so that a schema of any depth gets an error and no overflow. */
function inspect(schema: JsonSchema, where: string): string[] {
  const notes = new Set<string>();
  const stack: { readonly value: unknown; readonly depth: number }[] = [
    { value: schema, depth: 0 },
  ];
  if (schema.$async !== undefined) {
    throw invalid(where, "a schema with $async, which is no JSON Schema");
  }
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { value, depth } = top;
    if (typeof value !== "object" || value === null) continue;
    if (depth > DEPTH_MAX) throw invalid(where, `a schema more than ${DEPTH_MAX} levels deep`);
    if (Object.hasOwn(value, "__proto__")) {
      throw invalid(where, "a schema with a property __proto__");
    }
    for (const [key, one] of Object.entries(value)) {
      if (key === "pattern" && typeof one === "string") noteRisk(one, notes);
      if (key === "patternProperties" && typeof one === "object" && one !== null) {
        for (const pattern of Object.keys(one)) noteRisk(pattern, notes);
      }
      if (key === "format" && typeof one === "string" && !Object.hasOwn(KNOWN_FORMATS, one)) {
        notes.add(`format ${JSON.stringify(one)} is not checked`);
      }
      stack.push({ value: one, depth: depth + 1 });
    }
  }
  return [...notes];
}

function noteRisk(pattern: string, notes: Set<string>): void {
  const risk = patternRisk(pattern);
  if (risk === undefined) return;
  notes.add(`pattern ${JSON.stringify(pattern).slice(0, 100)} may take very long: ${risk}`);
}

function uncompiled(where: string, error: unknown): ManxError {
  const { message, missingRef } = error as Error & { missingRef?: string };
  if (missingRef !== undefined) {
    const expected = "a reference within the schema; nothing is fetched";
    return invalid(where, "a schema that refers to one that is not in it", expected, missingRef);
  }
  return new ManxError("MANX_SCHEMA_INVALID", { where, got: message.slice(0, 300), cause: error });
}

function invalid(where: string, what: string, expected?: string, got?: string): ManxError {
  return new ManxError("MANX_SCHEMA_INVALID", {
    what,
    where,
    ...(expected !== undefined && { expected }),
    ...(got !== undefined && { got }),
  });
}
