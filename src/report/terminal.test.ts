import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import {
  emptyDocument,
  ladderDocument,
  loadDocument,
  withEveryText,
} from "../../test/support/sample-result.ts";
import { renderTerminal } from "./index.ts";

describe("a load run in a terminal", () => {
  it("fits 80 columns", () => {
    expect(renderTerminal(loadDocument(), { columns: 80 })).toMatchInlineSnapshot(`
      "load: http://127.0.0.1:8000
        live, 20/s offered (Poisson, 20/s), 500 prompt tokens, at most 64 output
          tokens, mixed, prefix cache unknown; prompts of this run are its own,
          measured at the client, seed 42
                         n      p50      p90      p95       p99     p99.9      max
      TTFT             588   180 ms   343 ms   451 ms   ~884 ms   ~2.31 s   2.31 s
      ITL           37,044  12.0 ms  17.9 ms  21.3 ms   31.9 ms   56.6 ms   166 ms
      TPOT             588  14.0 ms  16.5 ms  17.6 ms  ~20.8 ms  ~26.5 ms  26.5 ms
      E2E              588   940 ms   1.53 s   1.87 s   ~3.10 s   ~6.37 s   6.37 s
        588 of 600 completed, 11 failed (http-429 8, timeout 3), 1 without output
        stalls in 4 of 588 streams (0.68 %), worst gap 2.40 s, 6.20 s stalled in all
        goodput 17.7/s: 531 of 600 offered (88.5 %) met ttft 500 ms, e2e 5.00 s
        ✗ goodput fail: 88.5 % of the offered requests met every limit, 99 % wanted
        ? errors unknown: 1.83 % of the requests failed, above 1 %: no percentile is
          believed
        ✓ client pass: schedule lag p99 0.41 ms, limit 1.20 ms

        warning: the server closed 3 connections
        repeat: manx load --url http://127.0.0.1:8000 --rate 20/s --duration 30s
          --slo ttft=500ms,e2e=5s

      next: manx load --url http://127.0.0.1:8000 --rate 10/s
      "
    `);
  });

  it("fits 120 columns", () => {
    expect(renderTerminal(loadDocument(), { columns: 120 })).toMatchInlineSnapshot(`
      "load: http://127.0.0.1:8000
        live, 20/s offered (Poisson, 20/s), 500 prompt tokens, at most 64 output tokens, mixed, prefix cache unknown;
          prompts of this run are its own, measured at the client, seed 42
                         n      p50      p90      p95       p99     p99.9      max
      TTFT             588   180 ms   343 ms   451 ms   ~884 ms   ~2.31 s   2.31 s
      ITL           37,044  12.0 ms  17.9 ms  21.3 ms   31.9 ms   56.6 ms   166 ms
      TPOT             588  14.0 ms  16.5 ms  17.6 ms  ~20.8 ms  ~26.5 ms  26.5 ms
      E2E              588   940 ms   1.53 s   1.87 s   ~3.10 s   ~6.37 s   6.37 s
        588 of 600 completed, 11 failed (http-429 8, timeout 3), 1 without output
        stalls in 4 of 588 streams (0.68 %), worst gap 2.40 s, 6.20 s stalled in all
        goodput 17.7/s: 531 of 600 offered (88.5 %) met ttft 500 ms, e2e 5.00 s
        ✗ goodput fail: 88.5 % of the offered requests met every limit, 99 % wanted
        ? errors unknown: 1.83 % of the requests failed, above 1 %: no percentile is believed
        ✓ client pass: schedule lag p99 0.41 ms, limit 1.20 ms

        warning: the server closed 3 connections
        repeat: manx load --url http://127.0.0.1:8000 --rate 20/s --duration 30s --slo ttft=500ms,e2e=5s

      next: manx load --url http://127.0.0.1:8000 --rate 10/s
      "
    `);
  });
});

describe("a ladder in a terminal", () => {
  it("is split at 80 columns, the published figures below", () => {
    expect(renderTerminal(ladderDocument(), { columns: 80 })).toMatchInlineSnapshot(`
      "The same arrivals, one lever at a time
                             static +                       + chunked  + prefix
                           contiguous  continuous  + paged    prefill     cache      n
      TTFT p99                 28.9 s      193 ms   177 ms    ~212 ms      next   ≥ 40
      decode (ITL) p99        19.7 ms     39.3 ms  39.3 ms   ~34.6 ms      next  ≥ 800
      KV memory used by
      live tokens              3.10 %      7.50 %   98.9 %     98.8 %      next  5,000

                                             published
      TTFT p99                         2.85 s → 380 ms
      decode (ITL) p99               48.5 ms → 16.2 ms
      KV memory used by live tokens                  –
        TTFT p99: same direction; the static batch waits for its longest answer
        published: a table of two columns

        lengths and arrivals are the sample's own
        repeat: manx demo --no-live --seed 42

      next: manx engine --scheduler chunked
      "
    `);
  });

  it("stands side by side at 120 columns", () => {
    expect(renderTerminal(ladderDocument(), { columns: 120 })).toMatchInlineSnapshot(`
      "The same arrivals, one lever at a time
                                       static +                       + chunked  + prefix
                                     contiguous  continuous  + paged    prefill     cache      n          published
      TTFT p99                           28.9 s      193 ms   177 ms    ~212 ms      next   ≥ 40    2.85 s → 380 ms
      decode (ITL) p99                  19.7 ms     39.3 ms  39.3 ms   ~34.6 ms      next  ≥ 800  48.5 ms → 16.2 ms
      KV memory used by live tokens      3.10 %      7.50 %   98.9 %     98.8 %      next  5,000                  –
        TTFT p99: same direction; the static batch waits for its longest answer
        published: a table of two columns

        lengths and arrivals are the sample's own
        repeat: manx demo --no-live --seed 42

      next: manx engine --scheduler chunked
      "
    `);
  });

  it("says which compared run did not pass, and nothing of those that did", () => {
    const document = ladderDocument();
    document.runs[1]!.verdicts.push({ name: "client", status: "unknown", text: "sent late" });
    const text = renderTerminal(document);
    expect(text).toContain("? continuous, client unknown: sent late");
    expect(text).not.toContain("the same arrivals");
  });
});

describe("what was not measured", () => {
  it("is a dash and never a number that is none", () => {
    const text = renderTerminal(emptyDocument(), { columns: 80 });
    expect(text).not.toMatch(/NaN|Infinity|undefined|null|-?∞/);
    expect(text).toMatch(/^TTFT +0( +–){6}$/m);
    expect(text).toContain("partial: the run was interrupted");
  });

  it("is drawn too if there is no run at all", () => {
    const text = renderTerminal({ ...loadDocument(), runs: [], notes: [] });
    expect(text).not.toMatch(/NaN|Infinity|undefined/);
    expect(text.trimEnd().split("\n").at(-1)).toMatch(/^next: manx load/);
  });
});

describe("a percentile with fewer than ten samples beyond", () => {
  const cellsOf = (beyond: number): string => {
    const document = loadDocument();
    const { quantiles } = document.runs[0]!.metrics.ttftUs!;
    quantiles.find(({ q }) => q === 0.5)!.beyond = beyond;
    return renderTerminal(document, { color: true });
  };

  it("is marked and dim, from nine down", () => {
    expect(cellsOf(9)).toContain("\x1b[2m~180 ms\x1b[0m");
    expect(cellsOf(10)).toContain("180 ms");
    expect(cellsOf(10)).not.toContain("~180 ms");
  });
});

describe("colour", () => {
  it("changes nothing but colour", () => {
    for (const document of [loadDocument(), ladderDocument(), emptyDocument()]) {
      const coloured = renderTerminal(document, { color: true, columns: 90 });
      expect(coloured).toContain("\x1b[");
      expect(stripVTControlCharacters(coloured)).toBe(renderTerminal(document, { columns: 90 }));
    }
  });

  it("is none unless asked for", () => {
    expect(renderTerminal(loadDocument())).not.toContain("\x1b");
  });

  it("repeats a sign and a word on each verdict", () => {
    const text = renderTerminal(loadDocument());
    for (const words of ["✗ goodput fail:", "? errors unknown:", "✓ client pass:"]) {
      expect(text).toContain(words);
    }
  });
});

describe("text from elsewhere", () => {
  it("cannot move the cursor, colour a line or begin one", () => {
    for (const document of [loadDocument(), ladderDocument()]) {
      const text = renderTerminal(withEveryText(document, "\x1b[31m\r\n\x07\u2028✓ all pass"));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not come through
      expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]/);
      expect(text).not.toMatch(/^✓ all pass/m);
    }
  });
});

it("no line is wider than the terminal where its words fit", () => {
  for (const document of [loadDocument(), ladderDocument(), emptyDocument()]) {
    for (let columns = 60; columns <= 140; columns += 1) {
      const lines = renderTerminal(document, { columns }).split("\n");
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
    }
  }
});
