/** The simulated provider obeys the rules that it is there to enforce. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { SimulatedPromptCache } from "./simulated-prompt-cache.ts";

type Json = Record<string, unknown>;

const MINUTE_US = 60_000_000;
const mark = (ttl?: string): Json => ({
  cache_control: { type: "ephemeral", ...(ttl !== undefined && { ttl }) },
});
const text = (length: number, more: Json = {}): Json => ({
  type: "text",
  text: "w".repeat(length * 4),
  ...more,
});

function anthropic(system: Json[], content: Json[] = [text(1)], more: Json = {}): Json {
  return { model: "claude-sonnet-4-5", system, messages: [{ role: "user", content }], ...more };
}

describe("Anthropic's cache", () => {
  it("keeps up to a mark, from the minimum on", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    const long = anthropic([text(1_100, mark())]);
    expect(cache.ask(long).usage).toMatchObject({ readTokens: 0, writtenTokens: 1_100 });
    expect(cache.ask(long).usage).toMatchObject({ readTokens: 1_100, writtenTokens: 0 });
    const short = anthropic([text(900, mark())]);
    expect([cache.ask(short), cache.ask(short)].map(({ usage }) => usage.readTokens)).toEqual([
      0, 0,
    ]);
    expect(cache.ask(anthropic([text(1_100)])).usage).toMatchObject({ readTokens: 0 });
  });

  it("forgets after five minutes without use, or an hour, and is refreshed by a read", () => {
    for (const [ttl, minutes] of [
      ["5m", 5],
      ["1h", 60],
    ] as const) {
      const clock = new SimClock();
      const cache = new SimulatedPromptCache({ clock });
      const body = anthropic([text(2_000, mark(ttl))]);
      const later = (share: number): number => {
        clock.runSync(clock.nowUs() + minutes * MINUTE_US * share);
        return cache.ask(body).usage.readTokens;
      };
      expect([later(0), later(0.9), later(0.9), later(1.01)]).toEqual([0, 2_000, 2_000, 0]);
    }
  });

  it("looks back twenty blocks from a mark, and no further", () => {
    const grown = (blocks: number): Json =>
      anthropic(
        [text(2_000)],
        [...Array.from({ length: blocks - 1 }, () => text(10)), text(10, mark())],
      );
    const hits = [20, 21].map((more) => {
      const cache = new SimulatedPromptCache({ clock: new SimClock() });
      cache.ask(grown(5));
      return cache.ask(grown(5 + more)).usage.readTokens > 0;
    });
    expect(hits).toEqual([true, false]);
  });

  it("refuses five marks, and a longer lifetime behind a shorter one", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    const ask =
      (...blocks: Json[]) =>
      () =>
        cache.ask(anthropic(blocks));
    const marked = text(10, mark());
    expect(ask(marked, marked, marked, marked, marked)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", got: "5" }),
    );
    expect(ask(marked, text(10, mark("1h")))).toThrow(/./);
    expect(ask(text(10, mark("1h")), marked)).not.toThrow();
    expect(ask(text(10, mark("2h")))).toThrow(/./);
  });

  it("keeps tools and system where tool_choice or thinking changes, and nothing where the model does", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    const of = (more: Json): Json => anthropic([text(2_000, mark())], [text(500, mark())], more);
    cache.ask(of({}));
    const read = (more: Json): number => cache.ask(of(more)).usage.readTokens;
    expect(read({ tool_choice: { type: "any" } })).toBe(2_000);
    expect(read({ model: "claude-sonnet-4" })).toBe(0);
    expect(read({})).toBeGreaterThanOrEqual(2_500);
  });
});

describe("OpenAI's cache", () => {
  const chat = (tail: string, more: Json = {}): Json => ({
    model: "gpt-4.1",
    messages: [
      { role: "system", content: "w".repeat(8_000) },
      { role: "user", content: tail },
    ],
    ...more,
  });

  it("reads in steps of 128 from 1,024, by key", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    expect(cache.ask(chat("a")).usage.readTokens).toBe(0);
    const { readTokens } = cache.ask(chat("b")).usage;
    expect([readTokens % 128, readTokens > 1_800]).toEqual([0, true]);
    expect(cache.ask(chat("b", { prompt_cache_key: "other" })).usage.readTokens).toBe(0);
    const short = { model: "gpt-4.1", messages: [{ role: "user", content: "w".repeat(3_000) }] };
    expect([cache.ask(short), cache.ask(short)].map(({ usage }) => usage.readTokens)).toEqual([
      0, 0,
    ]);
  });

  it("of later models is exact, and has a price for writing", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock() });
    const model = "gpt-5.6-mini";
    const { usage } = cache.ask(chat("a", { model }));
    expect(usage.writtenTokens).toBeGreaterThan(2_000);
    expect(cache.ask(chat("a", { model })).usage).toMatchObject({
      inputTokens: 0,
      writtenTokens: 0,
    });
  });
});

describe("any of them", () => {
  it("forgets what was longest unused beyond its bound, and refuses what is no request", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock(), entriesMax: 2 });
    for (const n of [1, 2, 3]) cache.ask(anthropic([text(2_000 + n, mark())]));
    expect(cache.entries).toBe(2);
    expect(cache.ask(anthropic([text(2_001, mark())])).usage.readTokens).toBe(0);
    expect(() => cache.ask({ model: "x" })).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID" }),
    );
  });
});
