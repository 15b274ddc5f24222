/** What may follow a failure, and what a breaker counts: the whole table. */
import { describe, expect, it } from "vitest";
import {
  type Failure,
  type FailureKind,
  isIllness,
  type NextTry,
  nextTry,
  plainFailure,
} from "./failure.ts";

/** Kind or status; what follows for a call that may be computed twice, and for one that may not; whether it is an illness. */
const TABLE: readonly [FailureKind | number, NextTry, NextTry, boolean][] = [
  ["connect", "anywhere", "anywhere", true],
  ["timeout_connect", "anywhere", "anywhere", true],
  ["reuse_race", "again", "again", false],
  ["cut", "anywhere", "never", true],
  ["garbage", "anywhere", "never", true],
  ["timeout_headers", "elsewhere", "never", true],
  ["timeout_first_content", "elsewhere", "never", true],
  ["stall_bytes", "elsewhere", "never", true],
  ["stall_progress", "elsewhere", "never", true],
  ["local", "never", "never", false],
  [400, "never", "never", false],
  [401, "never", "never", false],
  [404, "never", "never", false],
  [408, "anywhere", "anywhere", false],
  [409, "never", "never", false],
  [422, "never", "never", false],
  [425, "anywhere", "anywhere", false],
  [429, "anywhere", "anywhere", false],
  [500, "anywhere", "never", true],
  [501, "never", "never", true],
  [502, "anywhere", "never", true],
  [503, "anywhere", "anywhere", true],
  [504, "anywhere", "never", true],
  [529, "patiently", "patiently", true],
];

function failureOf(what: FailureKind | number, shouldRetry?: boolean): Failure[] {
  if (typeof what === "string") return [{ ...plainFailure(what), shouldRetry }];
  // An error event in a 200 stands for its status.
  return (["status", "stream_error"] as const).map((kind) => {
    return { ...plainFailure(kind, what), shouldRetry };
  });
}

describe.each(TABLE)("after %s", (what, repeatable, once, isIll) => {
  it(`a call that may be computed twice goes ${repeatable}, another ${once}`, () => {
    for (const failure of failureOf(what)) {
      expect([nextTry(failure, true), nextTry(failure, false)]).toEqual([repeatable, once]);
      expect(isIllness(failure)).toBe(isIll);
    }
  });
});

describe("x-should-retry", () => {
  it("false ends it, whatever the status", () => {
    for (const status of [429, 500, 503, 529]) {
      for (const failure of failureOf(status, false)) expect(nextTry(failure, true)).toBe("never");
    }
  });

  it("true allows what the status alone would not, but no second computation", () => {
    for (const failure of failureOf(409, true)) {
      expect([nextTry(failure, true), nextTry(failure, false)]).toEqual(["anywhere", "never"]);
    }
  });
});
