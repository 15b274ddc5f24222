/**
 * The HTML report as a reader gets it: opened from disk in a real browser that can reach no network. Skips where there is
 * no Chromium; MANX_CHROMIUM names one in another place.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ResultDocument } from "../../src/load/index.ts";
import { parseResult, renderHtml } from "../../src/report/index.ts";
import { ladderDocument, loadDocument, withEveryText } from "../support/sample-result.ts";

const CHROMIUM = process.env.MANX_CHROMIUM ?? "/usr/bin/chromium";
const isThere = existsSync(CHROMIUM);
if (!isThere) console.warn(`browser tests are skipped: there is no Chromium at ${CHROMIUM}`);

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const FOLDER = mkdtempSync(join(tmpdir(), "manx-report-"));

let browser: Browser;
beforeAll(async () => {
  if (isThere) browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});
afterAll(async () => {
  await browser?.close();
  rmSync(FOLDER, { recursive: true, force: true });
});

interface Visit {
  readonly page: Page;
  readonly url: string;
  /** What the page asked for, itself included. */
  readonly requests: readonly string[];
  /** Errors of scripts, and what the browser complains about. */
  readonly complaints: readonly string[];
}

type PageOptions = NonNullable<Parameters<Browser["newPage"]>[0]>;

/** Opens the document's report, hands it over, and closes it whatever happens. */
async function visit<Answer>(
  document: ResultDocument,
  options: PageOptions,
  act: (visit: Visit) => Promise<Answer>,
): Promise<Answer> {
  const path = join(FOLDER, `${document.kind}.html`);
  writeFileSync(path, renderHtml(document));
  const context = await browser.newContext({ offline: true, ...options });
  try {
    const page = await context.newPage();
    const requests: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    const url = pathToFileURL(path).href;
    await page.goto(url);
    return await act({ page, url, requests, complaints });
  } finally {
    await context.close();
  }
}

const isInFullView = (): boolean => document.documentElement.scrollWidth <= window.innerWidth;

/** Elements that stick out of the page, but for those in a box that scrolls by itself. */
const stickingOut = (): string[] =>
  [...document.querySelectorAll("main *")]
    .filter((one) => one.closest(".wide") === null || one.classList.contains("wide"))
    .filter((one) => one.getBoundingClientRect().right > window.innerWidth + 0.5)
    .map((one) => `${one.tagName} ${one.textContent?.slice(0, 40)}`);

/** Of each text with what lies behind it, by WCAG 2.2: 1 is invisible, 21 black on white. */
function contrastsOf(): { ratio: number; text: string; page: number }[] {
  const lightness = (css: string): number => {
    const [r = 0, g = 0, b = 0] = css.match(/[\d.]+/g)!.map((part) => Number(part) / 255);
    const linear = (part: number): number =>
      part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const ground = (one: Element | null): string => {
    const color = one === null ? "rgb(255, 255, 255)" : getComputedStyle(one).backgroundColor;
    return /, 0\)$|transparent/.test(color) ? ground(one!.parentElement) : color;
  };
  const texts = document.querySelectorAll("h1, p, th, td, small, li, summary, svg text, b");
  return [...texts].map((one) => {
    const style = getComputedStyle(one);
    const ink = lightness(one instanceof SVGElement ? style.fill : style.color);
    const page = lightness(ground(one));
    const ratio = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    return { ratio, text: `${one.tagName} ${one.textContent?.slice(0, 30)}`, page };
  });
}

describe.skipIf(!isThere)("the report in a browser", () => {
  it("shows headline, tables and charts, asks for nothing but itself, and complains of nothing", async () => {
    await visit(ladderDocument(), {}, async ({ page, url, requests, complaints }) => {
      expect(await page.locator("h1:visible").textContent()).toMatch(
        /^TTFT p99 went from 28\.9 s to/,
      );
      expect(await page.locator("table.comparison tbody tr:visible").count()).toBe(3);
      const charts = page.locator("figure > svg:visible");
      expect(await charts.count()).toBe(3);
      for (const chart of await charts.all()) {
        const box = (await chart.boundingBox())!;
        expect(box.width).toBeGreaterThan(200);
        expect(box.height).toBeGreaterThan(120);
        expect(await chart.getAttribute("aria-label")).toMatch(/by percentile/);
      }
      expect(requests).toEqual([url]);
      expect(complaints).toEqual([]);
    });
  });

  it("saves the document, which reads back as it was", async () => {
    const given = loadDocument();
    const saved = await visit(given, { acceptDownloads: true }, async ({ page, complaints }) => {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "save result.json" }).click();
      const file = await download;
      expect(file.suggestedFilename()).toBe("result.json");
      expect(complaints).toEqual([]);
      return readFileSync(await file.path(), "utf8");
    });
    expect(parseResult(saved, "saved")).toEqual(given);
  });

  it.each(["light", "dark"] as const)("is legible in %s", async (colorScheme) => {
    const contrasts = await visit(loadDocument(), { colorScheme }, ({ page }) =>
      page.evaluate(contrastsOf),
    );
    expect(contrasts.length).toBeGreaterThan(50);
    // WCAG 2.2 AA for text of this size.
    expect(contrasts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    for (const { page } of contrasts) expect(page < 0.2).toBe(colorScheme === "dark");
  });

  it.each([390, 768, 1280])(
    "fits %i px: tables scroll in their own box, the page does not",
    async (width) => {
      for (const document of [loadDocument(), ladderDocument()]) {
        await visit(document, { viewport: { width, height: 800 } }, async ({ page }) => {
          for (const summary of await page.locator("summary").all()) await summary.click();
          expect(await page.evaluate(stickingOut)).toEqual([]);
          expect(await page.evaluate(isInFullView)).toBe(true);
        });
      }
    },
  );

  it("lets a keyboard reach what unfolds, what scrolls, and the button, each in sight", async () => {
    const reached = await visit(ladderDocument(), {}, async ({ page }) => {
      const seen = new Set<string>();
      for (let press = 0; press < 60; press += 1) {
        await page.keyboard.press("Tab");
        const focus = await page.evaluate(() => {
          const one = document.activeElement!;
          const { outlineStyle, outlineWidth } = getComputedStyle(one);
          return { tag: one.tagName, isDrawn: outlineStyle !== "none" && outlineWidth !== "0px" };
        });
        if (focus.tag === "BODY") break;
        expect(focus.isDrawn, focus.tag).toBe(true);
        seen.add(focus.tag);
      }
      return seen;
    });
    expect([...reached].sort()).toEqual(["BUTTON", "DIV", "PRE", "SUMMARY"]);
  });

  it("runs nothing that a text of the document holds", async () => {
    const marks = [
      "</script><img src=x onerror=document.title='owned'>",
      "\u2028\"'<svg onload=x()>",
    ];
    for (const mark of marks) {
      const document = withEveryText(ladderDocument(), mark);
      await visit(document, {}, async ({ page, url, requests, complaints }) => {
        expect(await page.locator("img, iframe, svg[onload]").count()).toBe(0);
        expect(await page.title()).toContain(document.comparisons[0]!.rows[0]!.title);
        const held = await page.locator("#result").evaluate((one) => one.textContent!);
        expect(parseResult(held, "page")).toEqual(document);
        expect(requests).toEqual([url]);
        expect(complaints).toEqual([]);
      });
    }
  });

  it("prints whole: what was folded is open on paper and folded again after", async () => {
    await visit(ladderDocument(), {}, async ({ page }) => {
      const folded = page.locator("section > details:not([open])");
      const before = await folded.count();
      expect(before).toBeGreaterThan(0);
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      expect(await folded.count()).toBe(0);
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      expect(await folded.count()).toBe(before);
      const pdf = await page.pdf({ format: "A4" });
      expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    });
  });
});
