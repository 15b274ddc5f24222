/**
 * Validators that `manx precompile` has written, as they are found at run time. Each belongs to a tool's name and to the
 * hash of the schema that it was made from: one whose schema has changed since is not used, and that is told.
 */
import { ManxError } from "../core/index.ts";
import type { Checked, InputCheck, JsonSchema } from "./input-check.ts";
import { schemaHash } from "./schema-hash.ts";

/** What a module written by `manx precompile` exports. */
export interface ValidatorModule {
  readonly format: string;
  readonly validators: readonly CompiledValidator[];
}

export interface CompiledValidator {
  readonly name: string;
  readonly hash: string;
  /** Builds the validator on its first use, from the module's own helpers. */
  readonly make: () => unknown;
}

/** Why a tool's schema is compiled at run time after all. */
export type FallbackReason =
  /** The module knows no tool of this name. */
  | "missing"
  /** The tool's schema is not the one that was compiled. */
  | "stale"
  /** What was compiled cannot be used. */
  | "broken";

export const VALIDATORS_FORMAT = "manx-validators/1";

/** A compiled validator as ajv makes them. */
interface Validate {
  (value: unknown): boolean;
  readonly errors?: readonly ValidateError[] | null;
}

interface ValidateError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const ERRORS_MAX = 5;
const MESSAGE_CHARS_MAX = 300;

export class ValidatorSet {
  readonly #byName: ReadonlyMap<string, CompiledValidator>;

  /** @throws MANX_TOOL_INVALID for something that is no such module. */
  constructor(module: ValidatorModule) {
    const { format, validators } = (module ?? {}) as Partial<ValidatorModule>;
    if (format !== VALIDATORS_FORMAT || !Array.isArray(validators)) {
      throw new ManxError("MANX_TOOL_INVALID", {
        what: "validators that this version cannot use",
        where: "validators",
        expected: VALIDATORS_FORMAT,
        got: String(format),
        hint: 'give the module itself (import * as validators from "./tools.validators.js"), and write it anew with manx precompile',
      });
    }
    this.#byName = new Map(validators.map((one) => [one.name, one]));
  }

  find(name: string, schema: JsonSchema): InputCheck | FallbackReason {
    const found = this.#byName.get(name);
    if (found === undefined) return "missing";
    try {
      if (found.hash !== schemaHash(schema)) return "stale";
      const validate = found.make();
      return typeof validate === "function" ? checkBy(validate as Validate) : "broken";
    } catch {
      return "broken";
    }
  }
}

function checkBy(validate: Validate): InputCheck {
  return (value): Checked => {
    if (validate(value)) return { args: value };
    const errors = validate.errors ?? [];
    const shown = errors.slice(0, ERRORS_MAX).map(errorText);
    const more = errors.length - shown.length;
    return { problem: shown.join("; ") + (more > 0 ? `; and ${more} more` : "") };
  };
}

/** Written for the model that has to mend its call: a path with dots, and what would fit. */
function errorText({ instancePath, keyword, params = {} }: ValidateError): string {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
  const text = `${path === "" ? "" : `${path}: `}${ruleText(keyword, params)}`;
  return text.slice(0, MESSAGE_CHARS_MAX);
}

function ruleText(keyword: string, params: Readonly<Record<string, unknown>>): string {
  const shown = (key: string): string => JSON.stringify(params[key]) ?? "";
  switch (keyword) {
    case "type":
      return `must be ${[params.type].flat().join(" or ")}`;
    case "required":
      return `must have ${shown("missingProperty")}`;
    case "additionalProperties":
      return `must not have ${shown("additionalProperty")}`;
    case "enum":
      return `must be one of ${shown("allowedValues")}`;
    case "const":
      return `must be ${shown("allowedValue")}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `must be ${params.comparison} ${params.limit}`;
    case "minLength":
    case "maxLength":
      return `must have ${atLeast(keyword)} ${params.limit} characters`;
    case "minItems":
    case "maxItems":
      return `must have ${atLeast(keyword)} ${params.limit} items`;
    case "pattern":
      return `must match the pattern ${shown("pattern")}`;
    case "format":
      return `must have the format ${shown("format")}`;
    default:
      return `does not fit ${keyword} ${JSON.stringify(params)}`;
  }
}

function atLeast(keyword: string): string {
  return keyword.startsWith("min") ? "at least" : "at most";
}
