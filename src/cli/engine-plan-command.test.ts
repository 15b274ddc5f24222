import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { resultSchema } from "../load/index.ts";
import { makeProgram, runProgram } from "./program.ts";

async function plan(...flags: string[]): Promise<{ code: number; io: FakeIo }> {
  const io = new FakeIo();
  const code = await runProgram(makeProgram(io), ["engine", "plan", ...flags], io);
  return { code, io };
}

/** 200 requests, ten a second, 400 tokens in and 30 out. */
function traceFile(): string {
  const rows = Array.from(
    { length: 200 },
    (_, i) =>
      `2026-01-01 00:00:${String(Math.floor(i / 10)).padStart(2, "0")}.${i % 10}00000,400,30`,
  );
  const path = join(mkdtempSync(join(tmpdir(), "manx-plan-")), "trace.csv");
  writeFileSync(path, `TIMESTAMP,ContextTokens,GeneratedTokens\n${rows.join("\n")}\n`);
  return path;
}

describe("manx engine plan", () => {
  it("recommends the smallest that will do, with the next best two, as a table and as a document", async () => {
    const trace = traceFile();
    const { code, io } = await plan("--trace", trace, "--slo", "ttft=500ms,itl=50ms");
    expect([code, io.err]).toEqual([0, ""]);
    expect(io.out).toMatch(/^Meets TTFT p99 ≤ 500 ms, ITL p99 ≤ 50\.0 ms/);
    expect(io.out).toMatch(/GPUs +1 +1 +1/);
    expect(io.out).toContain("--tensor-parallel-size 1");
    expect(io.out).toMatch(/1: 1\s+GPU,/);
    expect(io.out).toMatch(/not whole prompts \(1 GPU, whole\): /);
    const json = await plan("--trace", trace, "--slo", "ttft=500ms,itl=50ms", "--json");
    const document = resultSchema.parse(JSON.parse(json.io.out));
    expect(document.runs).toHaveLength(3);
  });

  it("ends with 3 if nothing meets the limits, after showing how near it came", async () => {
    const { code, io } = await plan("--trace", traceFile(), "--slo", "itl=1ms", "--gpus", "2");
    expect(code).toBe(3);
    expect(io.out).toMatch(/^Does not meet ITL p99 ≤ 1\.00 ms/);
    expect(io.err).toContain("error MANX_BUDGET_BREACHED: no configuration of up to 2 GPUs");
  });

  it("takes a fitted cost for the engine that it was fitted to, and for no other", async () => {
    const cost = join(mkdtempSync(join(tmpdir(), "manx-plan-")), "cost.json");
    const coefficients = {
      stepUs: 9_000,
      freeTokens: 128,
      tokenUs: 50,
      prefillSequenceUs: 0,
      prefillPairUs: 0,
      prefillContextTokenUs: 0,
      decodeSequenceUs: 20,
      decodeContextTokenUs: 0.1,
    };
    const error = [{ figure: "e2e", n: 60, medianPercent: 1.2, p90Percent: 4.5 }];
    const fittedOn = { source: "run.json", requests: 60, undetermined: ["prefillPairUs"] };
    const engine = { model: "qwen2.5-7b", gpu: "l40s", ranks: 1, kvTokens: 100_000 };
    writeFileSync(
      cost,
      JSON.stringify({ schemaVersion: 1, coefficients, fittedOn, error, engine }),
    );
    const flags = ["--trace", traceFile(), "--slo", "ttft=500ms,itl=50ms", "--cost", cost];
    const { code, io } = await plan(...flags);
    expect([code, io.err]).toEqual([0, ""]);
    expect(io.out).toMatch(/^Meets .*: qwen2\.5-7b on l40s/);
    expect(io.out.replace(/\s+/g, " ")).toContain(
      "step times are fitted to run.json; error on requests unseen: E2E 1.2 % in the median, 4.5 % at p90 (n 60)",
    );
    expect(io.out).toContain("tells nothing of prefillPairUs");
    const other = await plan(...flags, "--gpu", "h100-sxm");
    expect(other.code).toBe(2);
    expect(other.io.err).toContain("expected l40s, as ");
    const broken = await plan(...flags.slice(0, 4), "--cost", traceFile());
    expect(broken.io.err).toContain("MANX_TABLE_FORMAT");
  });

  it.each([
    [["--slo", "ttft=1s"], "MANX_FLAG_MISSING", "--trace"],
    [["--trace", "x"], "MANX_FLAG_MISSING", "--slo"],
    [["--trace", "x", "--slo", "ttft=1"], "MANX_DURATION", "--slo"],
    [["--trace", "x", "--slo", "tpot=1s"], "MANX_FLAG_VALUE", "tpot"],
    [["--trace", "nowhere.csv", "--slo", "ttft=1s"], "MANX_FILE_UNREADABLE", "nowhere.csv"],
    [["--trace", "x", "--slo", "ttft=1s", "--gpus", "0"], "MANX_FLAG_VALUE", "--gpus"],
    [["--trace", "x", "--slo", "ttft=1s", "--speed", "fast"], "MANX_FLAG_VALUE", "--speed"],
    [["--trac", "x"], "MANX_FLAG_UNKNOWN", '"--trace"'],
  ])("refuses %j with %s", async (flags, code, word) => {
    const { code: exit, io } = await plan(...flags);
    expect([exit, io.out]).toEqual([2, ""]);
    expect(io.err).toContain(code);
    expect(io.err).toContain(word);
  });

  it("names GPUs and models, and shows the sum for what cannot be", async () => {
    const trace = traceFile();
    const slo = ["--trace", trace, "--slo", "ttft=1s"];
    expect((await plan(...slo, "--gpu", "h10")).io.err).toContain("unknown GPU\n  at --gpu\n");
    const tooLarge = await plan(...slo, "--model", "llama-3.1-70b", "--gpus", "1");
    expect(tooLarge.code).toBe(2);
    expect(tooLarge.io.err).toContain("weights 131.4 GiB");
    const long = await plan(...slo, "--context", "200000");
    expect(long.io.err).toContain("at --context\n  expected at most llama-3.1-8b's 131072 tokens");
  });

  it("says which request is longer than the model's context, and how many are", async () => {
    const trace = join(mkdtempSync(join(tmpdir(), "manx-plan-")), "long.csv");
    const rows = [100, 200_000, 300_000].map((n) => `2023-11-16 18:15:10,${n},20`);
    writeFileSync(trace, ["TIMESTAMP,ContextTokens,GeneratedTokens", ...rows].join("\n"));
    const { code, io } = await plan("--trace", trace, "--slo", "ttft=1s");
    expect(code).toBe(2);
    expect(io.err).toContain("MANX_REQUEST_NEVER_FITS");
    expect(io.err).toContain("long.csv:4");
    expect(io.err).toContain("300000 prompt + 20 output = 300020 tokens; 2 of 3 requests");
  });
});
