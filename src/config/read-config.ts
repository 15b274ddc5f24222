/**
 * Reads one section: defaults, then the file, then variables, then flags, each over the one before, and checks the whole
 * against the section's schema. Everything that is wrong is found in one go.
 */
import type { z } from "zod";
import { ManxError, nearestName, toManxError } from "../core/index.ts";
import { ConfigFile, readConfigFile } from "./config-file.ts";
import { withValue } from "./config-path.ts";
import { type Env, envValues, type GivenValue } from "./env-values.ts";
import { IssueErrors } from "./issue-errors.ts";
import { SchemaOutline } from "./schema-outline.ts";
import { Origins, SectionConfig } from "./section-config.ts";

/** What a file may hold beside `$schema`. A command reads its own section and leaves the others unread. */
export const SECTIONS = ["engine", "gateway"] as const;
export type SectionName = (typeof SECTIONS)[number];

export interface ReadConfigOptions<Schema extends z.ZodType> {
  readonly section: SectionName;
  /** Values as they are written: texts such as `"2s"`, no transforms. Objects are strict. */
  readonly schema: Schema;
  /** Default: none. */
  readonly env?: Env;
  /** Flags that the command line has, with their paths within the section; they come over all else. */
  readonly flags?: readonly GivenValue[];
  /** What the file says, where somebody has read it already; its path then stands in errors only. */
  readonly text?: string | undefined;
}

export type CheckedConfig<Value> =
  | { readonly config: SectionConfig<Value>; readonly errors: readonly [] }
  | { readonly config: undefined; readonly errors: readonly ManxError[] };

/** Errors shown at most; of a file in another form every key is wrong. */
const ERRORS_MAX = 50;

/**
 * @param path of the file; undefined for variables, flags and defaults alone.
 * @throws MANX_FILE_UNREADABLE, MANX_CONFIG_SYNTAX, MANX_CONFIG_KEY, MANX_CONFIG_VALUE; `details.errors` counts all.
 */
export async function readConfig<Schema extends z.ZodType>(
  path: string | undefined,
  options: ReadConfigOptions<Schema>,
): Promise<SectionConfig<z.output<Schema>>> {
  const { config, errors } = await checkConfig(path, options);
  if (config !== undefined) return config;
  throw firstOf(errors);
}

/** Like `readConfig`, with every error instead of the first. */
export async function checkConfig<Schema extends z.ZodType>(
  path: string | undefined,
  options: ReadConfigOptions<Schema>,
): Promise<CheckedConfig<z.output<Schema>>> {
  try {
    const { text } = options;
    if (path === undefined) return checkSection(undefined, options);
    const file = text === undefined ? await readConfigFile(path) : new ConfigFile(path, text);
    return checkSection(file, options);
  } catch (thrown) {
    return { config: undefined, errors: [toManxError(thrown)] };
  }
}

/** Checks what has been read already. @throws MANX_CONFIG_KEY, MANX_CONFIG_VALUE about a variable. */
export function checkSection<Schema extends z.ZodType>(
  file: ConfigFile | undefined,
  { section, schema, env = {}, flags = [] }: ReadConfigOptions<Schema>,
): CheckedConfig<z.output<Schema>> {
  const outline = new SchemaOutline(schema);
  const errors = file === undefined ? [] : strayKeys(file, section, outline);
  if (errors.length > 0) return { config: undefined, errors };
  const fromFile = file?.value[section];
  const fromEnv = envValues(section, outline, env, fromFile);
  const origins = new Origins(section, file, [
    ...fromEnv.map((one) => ({ ...one, kind: "env" as const })),
    ...flags.map((one) => ({ ...one, kind: "flag" as const })),
  ]);
  let written: unknown = fromFile ?? {};
  for (const { path, value } of [...fromEnv, ...flags]) written = withValue(written, path, value);
  const checked = schema.safeParse(written);
  if (checked.success) {
    return { config: new SectionConfig(checked.data, origins, outline), errors: [] };
  }
  const issueErrors = new IssueErrors(origins, outline, written);
  const found = checked.error.issues.flatMap((issue) => issueErrors.of(issue));
  return { config: undefined, errors: found.slice(0, ERRORS_MAX) };
}

/** The first error, with a word about the others. @param errors at least one */
export function firstOf(errors: readonly ManxError[]): ManxError {
  const [first, ...rest] = errors;
  if (rest.length === 0) return first!;
  const { code, what, where, excerpt, expected, got, hint } = first!;
  return new ManxError(code, {
    what,
    ...(where !== undefined && { where }),
    ...(excerpt !== undefined && { excerpt }),
    ...(expected !== undefined && { expected }),
    ...(got !== undefined && { got }),
    hint: `${hint} (manx config check shows ${rest.length} more)`,
    details: { errors: errors.length },
  });
}

/** What stands beside the sections, and a section that is not there. */
function strayKeys(file: ConfigFile, section: SectionName, outline: SchemaOutline): ManxError[] {
  const known: readonly string[] = ["$schema", ...SECTIONS];
  const stray = Object.keys(file.value).filter((key) => !known.includes(key));
  const inSection = outline.namesAt([]);
  const errors = stray.slice(0, ERRORS_MAX).map((key) => {
    const near = nearestName(key, known);
    const hint = inSection.includes(key)
      ? `put it into "${section}": {…}`
      : near !== undefined && `did you mean "${near}"?`;
    return new ManxError("MANX_CONFIG_KEY", {
      what: `unknown key ${JSON.stringify(key)}`,
      ...file.placeOfKey([key]),
      expected: `one of ${known.join(", ")}`,
      ...(hint !== false && { hint }),
    });
  });
  if (errors.length > 0 || Object.hasOwn(file.value, section)) return errors;
  const parts = { where: file.path, expected: `a section "${section}": {…}`, got: "none" };
  return [
    new ManxError("MANX_CONFIG_VALUE", {
      what: `the file says nothing about the ${section}`,
      ...parts,
    }),
  ];
}
