import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyDocument,
  ladderDocument,
  loadDocument,
  tailSamples,
  withEveryText,
} from "../../test/support/sample-result.ts";
import { METRIC_LABELS, type ResultDocument, toDistribution } from "../load/index.ts";
import { renderHtml } from "./html.ts";

const DOCUMENTS: [string, ResultDocument][] = [
  ["a load run", loadDocument()],
  ["a ladder", ladderDocument()],
  ["nothing measured", emptyDocument()],
  ["no run at all", { ...loadDocument(), runs: [] }],
];

const LOADING =
  /^<(link|img|iframe|base|object|embed|video|audio|image|use)\b|\s(src|href|srcset|poster|action|background|data|style)\s*=/i;

function embedded(page: string): unknown {
  const json = /<script type="application\/json" id="result">(.*?)<\/script>/s.exec(page)?.[1];
  return JSON.parse(json ?? "null");
}

/** What a reader sees and what a browser would run or load, without the data block. */
function visible(page: string): string {
  return page.replace(/<script type="application\/json".*?<\/script>/s, "");
}

describe.each(DOCUMENTS)("%s as a page", (_, document) => {
  const page = renderHtml(document);

  it("loads nothing", () => {
    const [style = "", script = ""] = [/<style>(.*?)<\/style>/s, /<script>(.*?)<\/script>/s].map(
      (block) => block.exec(page)?.[1],
    );
    expect(style).not.toMatch(/https?:|url\(|@import/i);
    expect(script).not.toMatch(/https?:|fetch|XMLHttp|import\b|WebSocket|EventSource|Beacon/i);
    const tags = visible(page)
      .replace(script, "")
      .replace(style, "")
      .match(/<[^>]*>/g)!;
    expect(tags.length).toBeGreaterThan(20);
    expect(tags.filter((tag) => LOADING.test(tag))).toEqual([]);
  });

  it("gives the document back", () => expect(embedded(page)).toEqual(document));

  it("never shows what is no figure", () => {
    expect(visible(page)).not.toMatch(/\b(NaN|undefined|null|Infinity|\[object)\b/);
  });

  it("closes what it opens", () => {
    const open: string[] = [];
    const empty = /^(meta|br|path|rect|!doctype)$/;
    for (const [, slash, name, , self] of visible(page).matchAll(
      /<(\/?)([a-z!][a-z0-9]*)((?:"[^"]*"|[^">])*?)(\/?)>/gi,
    )) {
      if (empty.test(name!) || self === "/") continue;
      if (slash === "") open.push(name!);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });
});

describe("the page's policy", () => {
  it("lets no script run but the page's own", () => {
    const page = renderHtml(loadDocument());
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
    const script = /<script>(.*?)<\/script>/s.exec(page)![1]!;
    const hash = createHash("sha256").update(script).digest("base64");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${hash}'`);
    expect(policy).not.toContain("script-src 'unsafe-inline'");
  });
});

describe("a hostile document", () => {
  const marks = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!--<script>",
    "\u2028\u2029\u0000\u001b[31m",
  ];

  it.each(marks)("with %j in every text is only text", (mark) => {
    for (const document of [loadDocument(), ladderDocument()]) {
      const hostile = withEveryText(document, mark);
      const page = renderHtml(hostile);
      const tags = (text: string): string[] =>
        [...text.matchAll(/<\/?[a-z]+/gi)].map(([tag]) => tag).sort();
      expect(tags(page)).toEqual(tags(renderHtml(withEveryText(document, "§"))));
      expect(embedded(page)).toEqual(hostile);
    }
  });

  it("of any text whatever keeps its tags", () => {
    const tags = (page: string): number => page.match(/<[a-z/!]/gi)!.length;
    const document = loadDocument();
    const plain = tags(renderHtml(withEveryText(document, "x")));
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(text, (mark) => tags(renderHtml(withEveryText(document, mark))) === plain),
      { numRuns: 60 },
    );
  });
});

describe("size", () => {
  /** As many buckets as samples: the largest histogram that n samples can make. */
  const wide = toDistribution(
    tailSamples({ n: 20_000, medianUs: 5_000_000, tail: 0.6 }),
    METRIC_LABELS.ttftUs,
  );

  function large(runs: number): ResultDocument {
    const [run] = loadDocument().runs;
    const metrics = { ttftUs: wide, itlUs: wide, e2eUs: wide, queueUs: wide };
    return {
      ...loadDocument(),
      runs: Array.from({ length: runs }, (_, index) => ({ ...run!, name: `r${index}`, metrics })),
    };
  }

  it("stays within 1 MB, with wider buckets and the same percentiles where it would not", () => {
    const document = large(20);
    expect(JSON.stringify(document).length).toBeGreaterThan(1_000_000);
    const page = renderHtml(document);
    expect(Buffer.byteLength(page)).toBeLessThan(1_000_000);
    expect(page).toContain("wider histogram buckets than measured");
    const taken = embedded(page) as ResultDocument;
    const { histogram, quantiles } = taken.runs[0]!.metrics.ttftUs!;
    expect(quantiles).toEqual(wide.quantiles);
    expect(histogram.buckets.filter((_, i) => i % 2 === 1).reduce((a, b) => a + b)).toBe(
      wide.histogram.n,
    );
  });

  it("says nothing of it where the document is whole", () => {
    expect(renderHtml(large(1))).not.toContain("wider histogram buckets");
  });
});

describe("what the page says", () => {
  it("begins with what changed, from which run to which, with n and seed", () => {
    const page = renderHtml(ladderDocument());
    expect(/<h1>(.*?)<\/h1>/.exec(page)?.[1]).toMatch(/^TTFT p99 went from [\d.]+ s to [\d.]+ ms$/);
    expect(/<p class="lead">(.*?)<\/p>/.exec(page)?.[1]).toBe(
      "static + contiguous → + chunked prefill: 136× better, n 40, seed 42; fewer than ten samples lie beyond it",
    );
  });

  it("marks figures that ten samples do not carry, and calls none of them best", () => {
    const page = renderHtml(ladderDocument());
    const row = /<th scope="row">TTFT p99.*?<\/tr>/s.exec(page)![0];
    const cells = row.match(/<td class="\w+">[^<]*/g)!;
    expect(cells.at(3)).toMatch(/^<td class="grey">~/);
    expect(cells.slice(0, 3).join()).not.toContain("~");
    expect(row).not.toMatch(/grey">[^<]*<span class="star"/);
    expect(row).toContain('<td class="grey">next</td>');
    expect(row).toContain("2.85 s → 380 ms");
  });

  it("gives the best its star only where no other's interval meets its own", () => {
    const document = ladderDocument();
    const [row] = document.comparisons[0]!.rows;
    const stars = (lows: readonly number[], greyIndex = -1): number => {
      row!.cells = row!.cells.map((cell, index) => ({
        ...cell,
        grey: index === greyIndex,
        value: lows[index]! + 5,
        low: lows[index]!,
        high: lows[index]! + 10,
      }));
      const drawn = /row">TTFT p99.*?<\/tr>/s.exec(renderHtml(document))![0];
      return drawn.split('"star"').length - 1;
    };
    expect(stars([100, 80, 60, 40])).toBe(1);
    expect(stars([100, 80, 50, 45])).toBe(0);
    expect(stars([100, 40, 40, 80])).toBe(2);
    // A figure that ten samples do not carry is no rival.
    expect(stars([100, 80, 40, 20], 3)).toBe(1);
    expect(stars([100, 80, 40, 45], 3)).toBe(1);
  });

  it("says verdicts with sign and word, and what is shared by all runs once", () => {
    const load = renderHtml(loadDocument());
    expect(load).toMatch(/✗ failed<\/b> goodput:/);
    expect(load).toMatch(/\? unknown<\/b> errors:/);
    expect(load).toMatch(/✓ passed<\/b> client:/);
    const ladder = renderHtml(ladderDocument());
    expect(ladder).toContain('<td class="shared" colspan="4">engine twin</td>');
  });

  it("gives a setting its unit, and leaves a word that ends alike alone", () => {
    const document = loadDocument();
    document.runs[0]!.conditions.setup = { timeoutUs: 60_000_000, seats: 3, regionUs: "east" };
    const page = renderHtml(document);
    const facts = [...page.matchAll(/row">([^<]*)<\/th><td class="shared"[^>]*>([^<]*)</g)];
    expect(facts.slice(-3).map(([, name, text]) => [name, text])).toEqual([
      ["timeout", "60.0 s"],
      ["seats", "3"],
      ["regionUs", "east"],
    ]);
  });

  it("says when a run was cut short", () => {
    expect(renderHtml(emptyDocument())).toContain("the run was interrupted");
  });
});
