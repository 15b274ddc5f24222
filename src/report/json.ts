/**
 * The document itself, laid out for people and for `diff`: known fields in the schema's order whatever wrote them, and a
 * list of numbers on one line, since a histogram has thousands.
 */
import { type ResultDocument, resultSchema } from "../load/index.ts";

export function renderJson(document: ResultDocument): string {
  return `${laidOut(resultSchema.parse(document), "")}\n`;
}

function laidOut(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.every((one) => typeof one === "number")) return JSON.stringify(value);
    return block(
      "[",
      value.map((one) => laidOut(one, inner)),
      "]",
      indent,
    );
  }
  const fields = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${JSON.stringify(name)}: ${laidOut(one, inner)}`);
  return block("{", fields, "}", indent);
}

function block(open: string, parts: readonly string[], close: string, indent: string): string {
  if (parts.length === 0) return open + close;
  const inner = `\n${indent}  `;
  return `${open}${inner}${parts.join(`,${inner}`)}\n${indent}${close}`;
}
