/**
 * Parity with Vidur: each recorded run, repeated in full. All seven take about two seconds, so there is no short form;
 * bench/parity-vidur.ts prints the same comparison as a table.
 */
import { describe, expect, it } from "vitest";
import type { ReferenceBatch } from "../../src/engine/index.ts";
import { costOf, GOLDEN_NAMES, type GoldenRun, readGolden, repeat } from "./golden-run.ts";
import { repeatOnTwin } from "./twin-run.ts";

/** Steps and restarts of each run, so that an emptied file cannot pass. */
const EXPECTED: Readonly<Record<(typeof GOLDEN_NAMES)[number], readonly [number, number]>> = {
  "vllm_q1.0": [4_060, 0],
  "sarathi512_q1.0": [4_477, 0],
  "sarathi512_q1.0_cap8": [11_513, 0],
  "vllm_q1.0_b600": [13_862, 55],
  "sarathi64_q1.0_b300_n200": [19_712, 31],
  "orca_q1.0": [7_134, 0],
  "ft_q0.25_cap6_n200": [15_549, 0],
};

describe("a run of Vidur is repeated bit by bit", () => {
  it.each(GOLDEN_NAMES)("%s", (name) => {
    const golden = readGolden(name);
    // Throws at the first step whose members, token counts, start or price differ, or restart that does.
    const parity = repeat(golden);
    expect([parity.steps, parity.restarts.length]).toEqual(EXPECTED[name]);
    expect(parity.requests).toBe(golden.requests.length);
    expect(parity.times).toBe(3 * golden.requests.length);
    expect(parity.timeErrorMax).toBe(0);
  });

  it("with tables merged from all runs, since they agree where they overlap", () => {
    const runs = GOLDEN_NAMES.map(readGolden);
    const names = Object.keys(runs[0]!.tables_ms) as (keyof GoldenRun["tables_ms"])[];
    const merged = Object.fromEntries(
      names.map((name) => [name, runs.flatMap((run) => run.tables_ms[name])]),
    ) as unknown as GoldenRun["tables_ms"];
    const [first] = runs;
    const cost = costOf({ meta: first!.meta, tables_ms: merged });
    expect(repeat(first!, cost).timeErrorMax).toBe(0);
  });
});

/**
 * Where memory is not short and no prompt is padded, the rules of the twin's own schedulers are the published ones. Under
 * shortage they differ on purpose: no watermark, no block held back from a decode that needs none, nobody let in during a
 * step that threw somebody out, and an unread prompt stays a prompt.
 */
describe("the twin's own scheduler repeats a run as well", () => {
  it.each([
    ["chunked", "sarathi512_q1.0"],
    ["chunked", "sarathi512_q1.0_cap8"],
    ["whole prompts beside decodes", "orca_q1.0"],
    ["static", "ft_q0.25_cap6_n200"],
  ] as const)("%s: %s", (_, name) => {
    const whole = { steps: EXPECTED[name][0], isWhole: true, otherTimes: 0 };
    expect(repeatOnTwin(readGolden(name))).toEqual(whole);
  });

  it.each(["vllm_q1.0", "vllm_q1.0_b600", "sarathi64_q1.0_b300_n200"] as const)(
    "%s: up to the first step in which memory decides",
    (name) => {
      const { steps, isWhole } = repeatOnTwin(readGolden(name));
      expect(isWhole).toBe(false);
      expect(steps).toBeGreaterThan(100);
    },
  );
});

/** Each case changes one number that a rule reads. A comparison that lets one of them through proves nothing. */
describe("a changed rule does not go unnoticed", () => {
  const cases: [string, (typeof GOLDEN_NAMES)[number], Partial<GoldenRun["meta"]>, RegExp][] = [
    ["no watermark", "vllm_q1.0_b600", { watermark_fraction: 0 }, /members|restart/],
    ["one block less", "sarathi64_q1.0_b300_n200", { num_blocks: 299 }, /members|restart/],
    ["a token less to pad", "vllm_q1.0_b600", { max_tokens_in_batch: 3_500 }, /members/],
    ["a larger chunk", "sarathi512_q1.0", { chunk_size: 513 }, /tokens/],
    ["one sequence more", "sarathi512_q1.0_cap8", { batch_size_cap: 9 }, /members/],
    ["one sequence less", "ft_q0.25_cap6_n200", { batch_size_cap: 5 }, /members/],
    ["memory for one less", "orca_q1.0", { num_blocks: 3_327 }, /members/],
    ["another layer", "orca_q1.0", { num_layers: 81 }, /price/],
    ["no batching overhead", "vllm_q1.0", { decode_batching_overhead: 0 }, /price/],
    ["free launches", "ft_q0.25_cap6_n200", { nccl_cpu_launch_overhead_ms: 0 }, /price/],
  ];

  it.each(cases)("%s (%s)", (_, name, change, symptom) => {
    const golden = readGolden(name);
    const changed = { ...golden, meta: { ...golden.meta, ...change } };
    expect(() => repeat(changed)).toThrow(symptom);
  });

  it.each([
    ["scheduled", 4],
    ["first token", 5],
    ["completed", 6],
  ])("a %s time that is one part in 10^9 off", (_, column) => {
    const golden = readGolden("vllm_q1.0");
    const requests = golden.requests.map((row) => [...row] as typeof row);
    const last = requests.at(-1)!;
    last[column] = last[column]! * (1 + 1e-9);
    expect(repeat({ ...golden, requests }).timeErrorMax).toBeGreaterThan(0.9e-9);
  });

  it("a price that is one rounding off", () => {
    const golden = readGolden("vllm_q1.0");
    const cost = costOf(golden);
    const rounded = { priceS: (batch: ReferenceBatch) => (cost.priceS(batch) * 1_000) / 1_000 };
    expect(() => repeat(golden, rounded)).toThrow(/price/);
  });
});
