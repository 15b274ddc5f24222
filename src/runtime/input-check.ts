/**
 * Whether arguments fit a tool, by what its author has: a Standard Schema (zod 4, valibot, arktype), a JSON Schema, or a
 * function. zod is loaded for a JSON Schema alone, and only when the tool box warms up or first needs it.
 */
import { isManxError, ManxError } from "../core/index.ts";

/** The part of standardschema.dev, version 1, that is used here. */
export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A function answers the arguments that the tool gets, or throws. */
export type ToolInput<Args> = StandardSchema<Args> | JsonSchema | ((value: unknown) => Args);

export type Checked = { readonly args: unknown } | { readonly problem: string };
export type InputCheck = (value: unknown) => Checked | Promise<Checked>;

const ISSUES_MAX = 5;
const MESSAGE_CHARS_MAX = 300;

/** @returns the check, or undefined if it has to be compiled by `compileInput` first. */
export function readyCheck(input: ToolInput<never>): InputCheck | undefined {
  if (typeof input === "function") return byFunction(input);
  return "~standard" in input ? byStandard(input as StandardSchema<unknown>) : undefined;
}

/** @throws MANX_TOOL_INVALID for a JSON Schema that cannot be compiled. */
export async function compileInput(input: JsonSchema, where: string): Promise<InputCheck> {
  const { z } = await import("zod");
  try {
    const check = byStandard(z.fromJSONSchema(input as never) as StandardSchema<unknown>);
    // A JSON Schema says what fits and changes nothing: the tool gets what the model wrote.
    return (value) => keep(check(value) as Checked, value);
  } catch (error) {
    throw new ManxError("MANX_TOOL_INVALID", {
      what: "a tool's JSON Schema that cannot be compiled",
      where,
      got: messageOf(error),
      hint: "mend the schema, or give a zod schema or a function instead",
      cause: error,
    });
  }
}

function byFunction(check: (value: unknown) => unknown): InputCheck {
  return (value) => {
    try {
      return { args: check(value) };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
}

function byStandard(schema: StandardSchema<unknown>): InputCheck {
  const { validate } = schema["~standard"];
  return (value) => {
    try {
      const result = validate(value);
      if (!(result instanceof Promise)) return read(result);
      return result.then(read, (error) => ({ problem: messageOf(error) }));
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
}

function read(result: StandardResult<unknown>): Checked {
  if (result.issues === undefined) return { args: result.value };
  const shown = result.issues.slice(0, ISSUES_MAX).map(issueText);
  const more = result.issues.length - shown.length;
  return { problem: shown.join("; ") + (more > 0 ? `; and ${more} more` : "") };
}

function issueText({ path = [], message }: StandardIssue): string {
  const steps = path.map((step) => String(typeof step === "object" ? step.key : step));
  const text = steps.length === 0 ? message : `${steps.join(".")}: ${message}`;
  return text.slice(0, MESSAGE_CHARS_MAX);
}

function keep(checked: Checked, value: unknown): Checked {
  return "problem" in checked ? checked : { args: value };
}

function messageOf(error: unknown): string {
  const text = error instanceof Error || isManxError(error) ? error.message : String(error);
  return text.slice(0, MESSAGE_CHARS_MAX) || "the arguments do not fit";
}
