/** The code of docs/how-to/guardrails-in-process.md and playout.md is type-checked and run, and their figures are made here. */
import { describe, expect, it } from "vitest";
import { patternRail, Rails, rail, tool } from "../src/runtime/index.ts";
import { burstCadence } from "./support/burst-cadence.ts";
import { answer, makeRails } from "./support/examples/guarded-answer.ts";
import { step } from "./support/examples/guarded-step.ts";
import { render } from "./support/examples/playout.ts";
import { FINISH, wholeCall } from "./support/runtime-world.ts";
import { readText } from "./support/source-tree.ts";
import { chatWire, delta } from "./support/wire-text.ts";

const guards = readText("docs/how-to/guardrails-in-process.md");
const playouts = readText("docs/how-to/playout.md");

/** The file of an example as a page shows it. */
function shown(name: string): string {
  const code = readText(`test/support/examples/${name}.ts`);
  return `\`\`\`ts\n${code.replace("../../../src/runtime/index.ts", "manx/runtime")}\`\`\``;
}

const said = (...texts: readonly string[]): string =>
  chatWire(...texts.map((content) => delta({ content })), delta({}, "stop"), "[DONE]");

describe("docs/how-to/guardrails-in-process.md", () => {
  it("shows code that runs: clean, settled by the judge, refused and asked again", async () => {
    expect(guards).toContain(shown("guarded-answer"));
    const answers: Record<string, string> = { dose: "take one dose", card: "4111 1111 1111 1111" };
    const models = {
      answer: async (request: string) =>
        new Response(said(answers[request] ?? "a harmless answer")),
      judge: async () => "no",
    };
    const rails = makeRails(models, "http://127.0.0.1:9/check");
    // The classifier is not there: as the page says, closed.
    await expect(answer(models, rails, "hello", () => {})).rejects.toMatchObject({
      code: "MANX_GUARD_FAILED",
    });
    const own = new Rails([
      patternRail({ name: "cards", patterns: ["\\b\\d{4}( ?\\d{4}){3}\\b"] }),
      patternRail({ name: "doses", patterns: [/\b(dose|pill)s?\b/i], onMatch: "unsure" }),
      rail({ name: "doctor", when: "unsure", check: () => "clean" }),
    ]);
    let text = "";
    for (const request of ["hello", "dose", "card"]) {
      const paths = await answer(models, own, request, (piece) => {
        text += piece;
      });
      expect(paths.at(-1)?.calls).toBe(1);
    }
    expect(text).toBe("a harmless answertake one dosea harmless answer");
  });

  it("shows code that runs a step with tools", async () => {
    expect(guards).toContain(shown("guarded-step"));
    const search = tool({
      name: "search",
      effect: "pure",
      input: (value: unknown) => value,
      run: () => "found",
    });
    const rails = new Rails([patternRail({ name: "bad", patterns: ["bad"] })]);
    let text = "";
    const wire = chatWire(
      delta({ content: "Let me see." }),
      wholeCall(0, "search"),
      FINISH,
      "[DONE]",
    );
    const { messages, report } = await step(
      { tools: [search], rails, request: "" },
      async () => new Response(wire),
      (piece) => {
        text += piece;
      },
    );
    expect([text, report?.path]).toEqual(["Let me see.", "clean"]);
    expect(messages).toEqual([{ role: "tool", tool_call_id: "c0", content: "found" }]);
  });

  it("names every path", () => {
    for (const path of ["clean", "flagged", "reformulated", "refused", "failed", "cut"]) {
      expect(guards).toContain(`| \`${path}\` |`);
    }
  });
});

describe("docs/how-to/playout.md", () => {
  it("shows code that runs", async () => {
    expect(playouts).toContain(shown("playout"));
    let text = "";
    async function* source(): AsyncGenerator<string> {
      yield "one ";
      yield "two";
    }
    const report = await render(source(), (piece) => {
      text += piece;
    });
    expect([text, report.stallsShown.count]).toEqual(["one two", 0]);
  });

  it("shows the figures of the bursts", async () => {
    expect(playouts).toContain(`\`\`\`text\n${await burstCadence()}\n\`\`\``);
  });
});
