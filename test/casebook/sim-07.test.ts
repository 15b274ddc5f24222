/** SIM-07 — Blocks leak or are freed twice: aborts in every state, conservation checked after every step. */
import { describe, expect, it } from "vitest";
import { abuse, SUBJECTS } from "../support/schedule-fuzz.ts";

describe("SIM-07: after any aborts the memory is whole and everybody has ended once", () => {
  for (const subject of Object.keys(SUBJECTS)) {
    it(subject, () => {
      let aborted = 0;
      let finished = 0;
      let swaps = 0;
      for (let seed = 0; seed < 20; seed += 1) {
        const outcome = abuse(subject, seed);
        aborted += outcome.aborted;
        finished += outcome.finished;
        swaps += outcome.swaps;
      }
      expect(aborted).toBeGreaterThan(100);
      expect(finished).toBeGreaterThan(100);
      if (subject.startsWith("swap")) expect(swaps).toBeGreaterThan(50);
    });
  }
});
