/** The code of docs/how-to/prefetch.md runs as it stands there, and its tables name what there is. */
import { describe, expect, it } from "vitest";
import { limitsOf } from "../src/policy/prefetch/prefetch-budget.ts";
import * as runtime from "../src/runtime/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/prefetch.md");
const [byRules, learnt] = tsBlocks(page);

const { Prefetcher, Turn, tool, evaluatePrefetch } = runtime;
const findOrders = async () => ["A-1"];

describe("docs/how-to/prefetch.md", () => {
  it("prefetches by rules", async () => {
    const answer = "{ turn, prefetcher }";
    const { turn, prefetcher } = (await runCode(byRules!, answer, {
      Prefetcher,
      Turn,
      tool,
      findOrders,
    })) as { turn: runtime.Turn; prefetcher: runtime.Prefetcher };
    turn.step("openai-chat");
    // The purse is empty before the model's own first calls.
    expect(prefetcher.report.notBegun).toEqual({ waste: 1 });
    await turn.close();
  });

  it("learns from turns, and forecasts", async () => {
    const tools = [
      tool({ name: "a", effect: "pure", prefetch: true, input: Object, run: () => 1 }),
    ];
    const serve = async (prefetch: runtime.Prefetcher): Promise<void> => {
      const turn = new Turn({ tools, prefetch });
      const step = turn.step("openai-chat");
      step.chunk({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] });
      step.end();
      await step.results();
      await turn.close();
    };
    const names = { Prefetcher, evaluatePrefetch, tools, serve };
    const answer = "{ forecast, setAside, off: learned.report.off }";
    expect(await runCode(learnt!, answer, names)).toMatchObject({
      forecast: { turns: 1, calls: 0, started: 0 },
      setAside: 0,
      off: null,
    });
  });

  it("names the defaults of the budget, and every reason", () => {
    for (const [name, value] of Object.entries(limitsOf({}))) {
      expect(page).toContain(`| \`${name}\` | ${value.toLocaleString("en-US")} |`);
    }
    for (const why of ["missed", "changed", "stale", "evicted", "ended"]) {
      expect(page).toContain(`(\`${why}\`)`);
    }
  });
});
