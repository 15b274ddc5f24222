/** What zod found wrong, in the words of Manx's errors. */
import type { z } from "zod";

export type Issue = z.core.$ZodIssue;

/** What should have been there, as a phrase after "expected". */
export function issueText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return EXPECTED[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.length === 1
        ? String(issue.values[0])
        : `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return sizeText(
        issue.origin,
        "at least",
        issue.inclusive === false ? "above" : "from",
        issue.minimum,
      );
    case "too_big":
      return sizeText(
        issue.origin,
        "at most",
        issue.inclusive === false ? "below" : "at most",
        issue.maximum,
      );
    case "invalid_union":
      return unionText(issue);
    default:
      return issue.message;
  }
}

function sizeText(origin: string, count: string, number: string, limit: number | bigint): string {
  if (origin === "string") return `${count} ${limit} characters`;
  if (origin === "array" || origin === "set") return `${count} ${limit} in the list`;
  if (origin === "object" || origin === "map") return `${count} ${limit} keys`;
  return number === "at most" ? `at most ${limit}` : `a number ${number} ${limit}`;
}

function unionText(issue: z.core.$ZodIssueInvalidUnion): string {
  const names = discriminators(issue);
  if (names.length > 0) return `one of ${names.join(", ")}`;
  const ways = issue.errors.map((issues) => issues[0]).filter((first) => first !== undefined);
  return [...new Set(ways.map(issueText))].join(", or ") || issue.message;
}

/** The names of the kinds of a discriminated union; zod's types do not tell of them. */
export function discriminators(issue: z.core.$ZodIssueInvalidUnion): string[] {
  return ((issue as { options?: readonly unknown[] }).options ?? []).map(String);
}

const EXPECTED: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a text",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  null: "null",
};
