/** What docs/how-to/tools-and-dispatch.md and fan-out.md say is what the code does. */
import { describe, expect, it } from "vitest";
import { adviseFanOut, EFFECT_RULES } from "../src/runtime/index.ts";
import { VERDICT_TEXT } from "../src/runtime/stream-verdict.ts";
import { goldenFanOut } from "./support/golden-fan-out.ts";
import { readText } from "./support/source-tree.ts";

const dispatch = readText("docs/how-to/tools-and-dispatch.md");
const fanOut = readText("docs/how-to/fan-out.md");

describe("docs/how-to/tools-and-dispatch.md", () => {
  it("shows the table of effects", () => {
    for (const [effect, rule] of Object.entries(EFFECT_RULES)) {
      const row = new RegExp(`^\\| \`${effect}\` \\|(.*)\\|$`, "m").exec(dispatch)?.[1];
      const [, early, repeats, hedges] = row!.split("|").map((cell) => cell.trim());
      expect([effect, early !== "no", repeats, hedges]).toEqual([
        effect,
        rule.startsEarly,
        rule.repeats ? "yes" : "no",
        rule.hedges ? "yes" : "no",
      ]);
    }
  });

  it("names every verdict and every status", () => {
    for (const verdict of ["run", ...Object.keys(VERDICT_TEXT)]) {
      expect(dispatch).toContain(`\`${verdict}\``);
    }
    for (const status of ["ok", "failed", "timeout", "invalid", "blocked", "skipped", "unknown"]) {
      expect(dispatch).toMatch(new RegExp(`\\| \`${status}\` \\|`));
    }
  });
});

describe("docs/how-to/fan-out.md", () => {
  it("shows the advice on the golden fan-out", () => {
    const { verdict, reasons } = adviseFanOut(goldenFanOut());
    expect(fanOut).toContain(`\`\`\`text\n${[verdict, ...reasons].join("\n")}\n\`\`\``);
  });
});
