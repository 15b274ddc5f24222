/**
 * Guardrails in line and beside the generation, in simulated time: golden scenario 5, a stack of five layers by path, and a
 * judge that is asked for every token.
 */
import { describe, expect, it } from "vitest";
import { railWorld, scriptedRail, timedSource, watch } from "../../test/support/rail-world.ts";
import { Random, type SimClock } from "../clock/index.ts";
import { type GuardReport, guardedAnswer, Rails, taxReport } from "../runtime/index.ts";
import { sampleQuantile } from "../stats/index.ts";

const MS = 1_000;

/** One call as it was drawn: both stacks get the same ones. */
interface Drawn {
  readonly ttftMs: number;
  readonly checkMs: readonly [injection: number, jailbreak: number, output: number];
  readonly judgeMs: number;
  /** Flagged: the judge has to settle it. Refused: it is asked again in other words. */
  readonly path: "clean" | "flagged" | "refused";
}

function draw(calls: number): Drawn[] {
  const random = new Random(1, "guardrails");
  const spread = (ms: number): number => Math.round(ms * Math.exp(0.3 * random.normal()));
  return Array.from({ length: calls }, () => {
    const one = random.next();
    return {
      ttftMs: 400 + Math.round(400 * random.next()),
      checkMs: [spread(80), spread(50), spread(60)],
      judgeMs: spread(700),
      path: one < 0.02 ? "refused" : one < 0.07 ? "flagged" : "clean",
    };
  });
}

const PIECES = 40;
const PIECE_MS = 20;

/** µs until the user sees the first text, as most stacks are built: one layer after the other, the answer checked whole. */
function inLine({ ttftMs, checkMs, judgeMs, path }: Drawn): number {
  const [injection, jailbreak, output] = checkMs;
  const generation = ttftMs + PIECES * PIECE_MS;
  const once = injection + jailbreak + generation + output;
  if (path === "clean") return once * MS;
  if (path === "flagged") return (once + judgeMs) * MS;
  // The refusal detector has seen the whole answer; then all of it once more.
  return (once + judgeMs + once) * MS;
}

const BAD = "forbidden";

/** The same beside the generation, by the code itself. */
async function beside(
  drawn: Drawn,
  clock: SimClock,
): Promise<{ firstUs: number; report: GuardReport }> {
  const { log } = railWorld();
  const [injection, jailbreak, output] = drawn.checkMs;
  const budget = "2s";
  const doubt = drawn.path !== "clean";
  const rails = new Rails(
    [
      scriptedRail(clock, log, { name: "injection", stage: "request", afterMs: injection, budget }),
      scriptedRail(clock, log, { name: "jailbreak", stage: "request", afterMs: jailbreak, budget }),
      scriptedRail(clock, log, {
        ...{ name: "output", afterMs: output, budget },
        verdict: (text: string) => (doubt && text.includes(BAD) ? "unsure" : "clean"),
      }),
      scriptedRail(clock, log, {
        ...{ name: "judge", when: "unsure", afterMs: drawn.judgeMs, budget: "5s" },
        verdict: () => (drawn.path === "refused" ? "flag" : "clean"),
      }),
    ],
    { overlapChars: 32, wait: "60ms" },
  );
  const startUs = clock.nowUs();
  const answer = guardedAnswer({
    rails,
    clock,
    request: "a question",
    ask: ({ round, signal }) => {
      const first = doubt && round === 1 ? `${BAD} words ` : "harmless words ";
      const pieces = Array.from({ length: PIECES }, (_, i) => {
        return [drawn.ttftMs + i * PIECE_MS, i === 0 ? first : "and some more words "] as const;
      });
      return timedSource(clock, pieces, signal);
    },
    reformulate: () => "the same question, politely",
  });
  const seen = watch(clock, answer);
  await clock.run();
  return { firstUs: seen.firstTextMs! * MS - startUs, report: seen.report! };
}

function at(values: readonly number[], q: number): number {
  return (
    sampleQuantile(
      [...values].sort((a, b) => a - b),
      q,
    ).value / MS
  );
}

describe("a stack of guardrails by path", () => {
  it("in line it taxes everybody; beside the generation hardly anybody", async () => {
    const { clock } = railWorld();
    const calls = draw(1_000);
    const rows: Record<string, { inLine: number[]; beside: number[] }> = {};
    const reports: GuardReport[] = [];
    for (const drawn of calls) {
      const { firstUs, report } = await beside(drawn, clock);
      reports.push(report);
      rows[drawn.path] ??= { inLine: [], beside: [] };
      rows[drawn.path]!.inLine.push(inLine(drawn));
      rows[drawn.path]!.beside.push(firstUs);
    }
    console.log("TTFVT in ms        n     in line p50    p99   beside p50    p99");
    for (const [path, { inLine: a, beside: b }] of Object.entries(rows)) {
      const figures = [at(a, 0.5), at(a, 0.99), at(b, 0.5), at(b, 0.99)].map((ms) => ms.toFixed(0));
      console.log(`${path.padEnd(12)} ${String(a.length).padStart(7)}   ${figures.join("   ")}`);
    }
    const { clean, flagged, refused } = rows;
    expect(at(clean!.beside, 0.5)).toBeLessThan(at(clean!.inLine, 0.5) / 1.5);
    expect(at(flagged!.beside, 0.5)).toBeLessThan(at(flagged!.inLine, 0.5) / 1.2);
    expect(at(refused!.beside, 0.5)).toBeLessThan(at(refused!.inLine, 0.5) / 1.5);
    const report = taxReport(reports);
    expect(report.paths.map(({ path }) => path)).toEqual(["clean", "flagged", "reformulated"]);
    expect(report.paths[0]!.calls).toBe(clean!.beside.length);
    // The subsidy: what the rare path costs and what everybody pays stand side by side.
    expect(report.paths[0]!.tax.p95.value).toBeLessThan(200 * MS);
    expect(report.paths[2]!.tax.p50.value).toBeGreaterThan(1_000 * MS);
  });
});

describe("golden scenario 5: an external check of 250 ms on a p95 of 2 s", () => {
  it("is 125 % of the safety budget in line, and within it beside the generation", async () => {
    const { clock, log } = railWorld();
    const calls = Array.from({ length: 200 }, (_, i) => 300 + ((i * 37) % 900));
    const reports: GuardReport[] = [];
    for (const ttftMs of calls) {
      const rails = new Rails([
        scriptedRail(clock, log, {
          name: "external",
          stage: "request",
          afterMs: 250,
          budget: "1s",
        }),
      ]);
      const ask = (): AsyncGenerator<string> =>
        timedSource(clock, [
          [ttftMs, "the answer"],
          [ttftMs + 700, " and its end"],
        ]);
      const answer = guardedAnswer({ rails, clock, request: "a question", ask });
      watch(clock, answer);
      await clock.run();
      reports.push(await answer.outcome);
    }
    const beside_ = taxReport(reports).review(2_000 * MS);
    // The same check before the call: all of it is added.
    const line = taxReport(reports.map((one) => ({ ...one, firstHeldUs: 250 * MS }))).review(
      2_000 * MS,
    );
    expect([line.verdict, Math.round(line.usedShare * 100)]).toEqual(["fail", 125]);
    expect([beside_.verdict, beside_.usedShare, beside_.used.n]).toEqual(["pass", 0, 200]);
  });
});

describe("a judge that is asked for every token", () => {
  // 186 tokens in 9 s, and a judge of 0.8 s: one framework's guard made 186 calls in a row of it, 150 s.
  const TOKENS = 186;
  const JUDGE_MS = 806;
  const tokens = Array.from({ length: TOKENS }, (_, i) => {
    return [Math.round((i * 9_000) / TOKENS), "token "] as const;
  });

  it("takes 150 s in line", () => {
    let nowMs = 0;
    for (const [atMs] of tokens) nowMs = Math.max(nowMs, atMs) + JUDGE_MS;
    expect(nowMs).toBeGreaterThanOrEqual(149_000);
  });

  it("and at most 10 s over windows, beside the generation, with all of it checked", async () => {
    const { clock, log } = railWorld();
    const judge = scriptedRail(clock, log, { name: "judge", afterMs: JUDGE_MS, budget: "3s" });
    const answer = guardedAnswer({
      rails: new Rails([judge]),
      clock,
      request: "",
      ask: () => timedSource(clock, tokens),
    });
    const seen = watch(clock, answer);
    await clock.run();
    expect(seen.text).toBe("token ".repeat(TOKENS));
    expect(seen.endMs).toBeLessThanOrEqual(10_000);
    expect(log.checked.length).toBeLessThanOrEqual(15);
    const covered = log.checked.reduce((sum, { text }, i) => sum + text.length - (i && 64), 0);
    expect(covered).toBe(TOKENS * 6);
  });
});
