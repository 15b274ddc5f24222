/**
 * The tables of docs/how-to/engine.md and engine-faults.md, made from the schema that checks a file and the flags that come
 * over it. `npm run docs` puts them in, test/engine-docs.test.ts holds them there.
 */
import { z } from "zod";
import { flagOfKey } from "../src/cli/engine-flags.ts";
import { engineSchema } from "../src/engine-server/index.ts";

interface Json {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Json>>;
  readonly items?: Json;
  readonly oneOf?: readonly Json[];
  readonly anyOf?: readonly Json[];
}

const section = z.toJSONSchema(engineSchema, { io: "input" }) as Json;

export const ENGINE_TABLES: Readonly<Record<string, () => string>> = {
  "docs/how-to/engine.md": leversTable,
  "docs/how-to/engine-faults.md": faultsTable,
};

const BEGIN = "<!-- made by npm run docs -->";
const END = "<!-- end -->";

/** The page with its table as the code has it. */
export function withTable(page: string, table: string): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`no "${BEGIN}" in this page`);
  return `${page.slice(0, from)}${BEGIN}\n${table}\n${page.slice(to)}`;
}

function leversTable(): string {
  const rows = Object.entries(section.properties ?? {}).flatMap(([key, json]) => rowsOf(key, json));
  return table(["key", "value", "default", "flag", "what it does"], rows);
}

function rowsOf(key: string, json: Json): string[][] {
  const row = [
    `\`${key}\``,
    writtenAs(json),
    json.default === undefined ? "" : `\`${JSON.stringify(json.default)}\``,
    flagOfKey(key) === undefined ? "" : `\`${flagOfKey(key)}\``,
    json.description ?? "",
  ];
  const inner = Object.entries(json.properties ?? {});
  const rows = inner.flatMap(([name, one]) => rowsOf(`${key}.${name}`, one));
  return [row, ...rows];
}

function faultsTable(): string {
  const kinds = section.properties?.faults?.items?.oneOf ?? [];
  const rows = kinds.map(({ properties = {}, description = "" }) => {
    const { kind, share: _, ...fields } = properties;
    const texts = Object.entries(fields).map(([name, json]) => {
      const said = json.description === undefined ? "" : `: ${json.description}`;
      const preset = json.default === undefined ? "" : ` (\`${JSON.stringify(json.default)}\`)`;
      return `\`${name}\`${preset}${said}`;
    });
    return [`\`${String(kind?.const)}\``, description, texts.join("<br>")];
  });
  return table(["kind", "what the client sees", "fields, and their defaults"], rows);
}

function writtenAs(json: Json): string {
  if (json.enum !== undefined) return json.enum.map((one) => `\`${one}\``).join(", ");
  const ways = json.oneOf ?? json.anyOf;
  if (ways !== undefined) {
    const kinds = ways.map((one) => one.properties?.kind?.const);
    if (kinds.every((kind) => kind !== undefined)) {
      return `\`{"kind": …}\`: ${kinds.map((kind) => `\`${kind}\``).join(", ")}`;
    }
    return ways.map(writtenAs).join(", or ");
  }
  if (json.pattern?.includes("min|h")) return "duration";
  if (json.pattern?.includes("gib")) return "size";
  if (json.type === "array") return "list";
  if (json.type === "object") return "object";
  if (json.type === "boolean") return "true or false";
  if (json.type === "string") return "text";
  return rangeOf(json);
}

function rangeOf(json: Json): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, type } = json;
  const from = exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : `from ${minimum}`;
  const isLarge = maximum !== undefined && maximum >= 1_000_000;
  const to = exclusiveMaximum !== undefined ? ` to below ${exclusiveMaximum}` : ` to ${maximum}`;
  return `${type === "integer" ? "whole number" : "number"} ${from}${isLarge ? "" : to}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // A bar inside a cell would end it.
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
