/** What zod found wrong, in the words of Manx's errors. */
import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** What should have been there, as a phrase after "expected". */
export function issueText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return EXPECTED[issue.expected] ?? issue.expected;
    case "invalid_value":
      return `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return issue.origin === "string"
        ? `at least ${issue.minimum} characters`
        : `a number ${issue.inclusive === false ? "above" : "from"} ${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `at most ${issue.maximum} characters`
        : `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a text",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};
