import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span, spanForest } from "../../test/support/span-forest.ts";
import { type Span, turnRecord } from "../trace/index.ts";
import { renderTurn } from "./index.ts";

const MS = 1_000;
const ms = (
  id: string,
  parent: string | null,
  kind: Span["kind"],
  from: number,
  to: number,
  more = {},
): Span => span(id, parent, kind, from * MS, to * MS, more);

function drawn(spans: readonly Span[], options = {}): string {
  return renderTurn(turnRecord({ traceId: "t1", spans, startedUnixUs: null }), options);
}

const TURN = [
  ms("support", null, "turn", 0, 1_000),
  ms("docs", "support", "retrieval", 0, 100),
  ms("gpt", "support", "model-call", 100, 500, {
    events: [
      { name: "place-granted", atUs: 150 * MS },
      { name: "output-start", atUs: 300 * MS },
    ],
  }),
  ms("search", "support", "tool-call", 500, 900, { cold: "first-call" }),
  ms("weather", "support", "tool-call", 500, 600, { status: "error" }),
];

describe("a turn in a terminal", () => {
  it("has phases that add up, and the tree with its critical path", () => {
    expect(drawn(TURN, { columns: 80 })).toBe(
      [
        "support: 1.00 s",
        "  ok, cold (first-call), trace t1",
        "",
        "  retrieval     ████                                         100 ms    10 %",
        "  prefill       ████████                                     200 ms    20 %",
        "    queue 50.0 ms",
        "  decode        ████████                                     200 ms    20 %",
        "  tools         ████████████████                             400 ms    40 %",
        "    join-wait 300 ms",
        "  orchestration ████                                         100 ms    10 %",
        "",
        "  █ critical path  ▒ on it, waiting  ░ in a child, or beside it",
        "  support (turn)                   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░████     1.00 s",
        "    docs (retrieval)               ███                                    100 ms",
        "    gpt (model-call)                  ▒▒████████████                      400 ms",
        "    weather (tool-call, error)                      ░░░                   100 ms",
        "    search (tool-call, cold)                        ██████████████        400 ms",
        "",
      ].join("\n"),
    );
  });

  it("says in words what is not known", () => {
    const text = drawn([
      ms("support", null, "turn", 0, 30_000),
      ms("agent.run", "support", "agent", 0, 28_000),
      ms("answer", "support", "tool-call", 28_000, 30_000),
    ]);
    expect(text).toContain("unattributed");
    expect(text).toContain("not-instrumented 28.0 s");
    expect(text).toMatch(
      /\? nothing inside "agent.run" says what happened \(28.0 s from 0 µs on\)/,
    );
  });

  it("fits every width, with names in any script, and never lets one move the cursor", () => {
    const names = fc.constantFrom("検索ツール", "a\u001b[2Jb", "x".repeat(200), "two\nlines", "ok");
    fc.assert(
      fc.property(spanForest, names, fc.integer({ min: 1, max: 200 }), (spans, name, columns) => {
        const text = drawn(
          spans.map((one) => ({ ...one, name })),
          { columns },
        );
        for (const line of text.split("\n")) {
          const wide = [...line].filter((character) => /[\u3040-\u9fff]/.test(character)).length;
          // A single word that is longer than the line is not broken.
          if (!line.includes("x".repeat(30))) {
            expect([...line].length + wide, line).toBeLessThanOrEqual(Math.max(40, columns));
          }
        }
        expect(text).not.toContain("\u001b");
      }),
      { numRuns: 200 },
    );
  });

  it("marks the path by a sign where there is no room for an axis", () => {
    const text = drawn(TURN, { columns: 50 });
    expect(text).toContain("    * search (tool-call, cold)");
    expect(text).toMatch(/^ {4}weather \(tool-call, error\)/m);
    expect(text).not.toContain("░");
  });

  it("leaves out what has no part in a long turn, and says how much", () => {
    const many = Array.from({ length: 100 }, (_, i) =>
      ms(`t${i}`, "turn", "tool-call", i, 300 - i),
    );
    const text = drawn([ms("turn", null, "turn", 0, 300), ...many]);
    expect(text).toContain("and 61 more spans");
    expect(text).toContain("t0 (tool-call)");
  });

  it("colours what it also says", () => {
    const text = drawn(TURN, { color: true });
    const bare = text
      .split("\u001b")
      .map((part, i) => (i === 0 ? part : part.replace(/^\[[\d;]*m/, "")));
    expect(bare.join("")).toBe(drawn(TURN));
    expect(text).not.toBe(drawn(TURN));
  });
});
