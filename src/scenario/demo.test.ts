import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { realClock } from "../clock/index.ts";
import { type ResultDocument, readTrace } from "../load/index.ts";
import { type DemoOptions, runDemo } from "./demo.ts";

async function demo(part: Partial<DemoOptions> = {}): Promise<ResultDocument> {
  return runDemo({
    clock: realClock,
    seed: 7,
    hour: await readTrace("data/azure-llm-2023/conversation.csv.gz", { limit: 500 }),
    shared: await readTrace("data/mooncake-fast25/conversation-1000.jsonl.gz", { limit: 150 }),
    liveS: 0,
    command: "manx demo --seed 7",
    ...part,
  });
}

describe("runDemo", () => {
  it("repeats all virtual figures to the last digit", async () => {
    const [first, second] = [await demo(), await demo()];
    expect(first.runs.length).toBe(11);
    expect(second.runs).toEqual(first.runs);
    expect(second.comparisons).toEqual(first.comparisons);
  });

  it("sends real traffic through a real gateway to a live engine, and its document keeps the schema", async () => {
    const document = await demo({ liveS: 2 });
    const live = document.runs.filter(({ world }) => world === "live");
    expect(live.map(({ name }) => name)).toEqual([
      "live: gateway, new connections",
      "live: gateway, kept connections",
      "live: direct, kept connections",
    ]);
    for (const run of live) {
      expect(run.counts.completed).toBe(run.counts.offered);
      expect(run.counts.completed).toBeGreaterThan(5);
      expect(run.metrics.itlUs!.histogram.n).toBeGreaterThan(run.counts.completed);
    }
    const schema = JSON.parse(readFileSync("schema/result.schema.json", "utf8"));
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    expect(validate(JSON.parse(JSON.stringify(document))), JSON.stringify(validate.errors)).toBe(
      true,
    );
  });

  it("stops soon when interrupted, keeps what is whole, and says that it is partial", async () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const document = await demo({
      interrupt: controller.signal,
      liveS: 2,
      onProgress: (text) => {
        seen.push(text);
        if (text.includes("prefix cache")) controller.abort();
      },
    });
    expect(document.status).toBe("partial");
    expect(document.comparisons).toHaveLength(1);
    expect(seen.at(-1)).toContain("prefix cache");
  });

  it("shows what speculation and a split of the engines do, each alone", async () => {
    const { comparisons } = await demo();
    const [, , further] = comparisons;
    expect(further!.title).toContain("(2 engines)");
    const cells = (title: string): number[] =>
      further!.rows.find((one) => one.title === title)!.cells.map(({ value }) => value!);
    const [plain, drafted, split] = cells("decode (ITL) p50");
    expect(plain! / drafted!).toBeGreaterThan(2);
    expect(split! / plain!).toBeGreaterThan(0.8);
    expect(cells("tokens from a verification")[0]).toBeCloseTo(2.94, 0);
    expect(cells("KV hand-over p99")[0]).toBeGreaterThan(1_000);
    const remark = further!.rows[1]!.remark;
    expect(remark).toMatch(
      /^with speculation [\d.]+× better, split pools [\d.]+× (better|worse): /,
    );
  });

  it("finds that paging and continuous batching help, on these requests too", async () => {
    const { comparisons } = await demo();
    const row = (title: string): number[] =>
      comparisons[0]!.rows.find((one) => one.title === title)!.cells.map(({ value }) => value!);
    const ttft = row("TTFT p99");
    expect(ttft[0]! / ttft.at(-1)!).toBeGreaterThan(2);
    const kv = row("KV memory used by live tokens");
    expect(kv[2]).toBeGreaterThan(0.9);
    expect(kv[1]).toBeLessThan(0.3);
  });
});
