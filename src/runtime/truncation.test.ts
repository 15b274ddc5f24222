import { describe, expect, it } from "vitest";
import { truncationProblem } from "../../test/support/truncated-streams.ts";

describe("a stream with tool calls that is cut anywhere", () => {
  it("starts nothing that cannot be taken back before it is whole, and each call once if it is", () => {
    for (let seed = 0; seed < 2_000; seed += 1) {
      expect([seed, truncationProblem(seed)]).toEqual([seed, null]);
    }
  });
});
