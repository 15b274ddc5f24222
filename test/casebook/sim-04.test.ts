/** SIM-04 — A hit must be contiguous from the start. Block 4; P is 12 tokens = blocks A, B, C, cached and free. */
import { describe, expect, it } from "vitest";
import { EngineRequest, type KvMemory, PrefixKv, RadixKv } from "../../src/engine/index.ts";

const BLOCK = 4;
const P = [101, 102, 103];

function ask(prefixIds: readonly number[], promptTokens: number): EngineRequest {
  return new EngineRequest({ promptTokens, outputTokens: 1, prefixIds }, 0, undefined);
}

/** Computes a prompt's whole blocks and lets them go, so that they lie in the cache. */
function cache(kv: KvMemory, prefixIds: readonly number[], tokens = BLOCK): void {
  const request = ask(prefixIds, prefixIds.length * tokens);
  expect(kv.admit(request, request.known, kv.match(request))).toBe(true);
  request.computed = request.promptTokens;
  kv.seal(request);
  kv.release(request);
}

/** Takes all that is free but `keep` blocks, oldest first, so that what lay there is forgotten. */
function squeeze(kv: PrefixKv, keep: number): EngineRequest {
  const free = (kv.totalTokens - kv.reservedTokens) / BLOCK;
  const filler = ask([], (free - keep) * BLOCK);
  expect(kv.admit(filler, filler.known, kv.match(filler))).toBe(true);
  return filler;
}

describe("SIM-04: what can be taken over", () => {
  it("is all whole blocks of a cached prompt, and of a longer one that begins alike", () => {
    const kv = new PrefixKv(40, BLOCK);
    cache(kv, P);
    expect(kv.match(ask(P, 13))).toBe(12);
    expect(kv.match(ask([...P, 104, 105], 20))).toBe(12);
  });

  it("is nothing once the first block is gone (a), two blocks if the last is (b)", () => {
    const kv = new PrefixKv(40, BLOCK);
    cache(kv, P);
    // The deepest block was let go first, so it is forgotten first.
    squeeze(kv, 2);
    expect(kv.match(ask(P, 13))).toBe(8);
    squeeze(kv, 1);
    expect(kv.match(ask(P, 13))).toBe(4);
    squeeze(kv, 0);
    expect(kv.match(ask(P, 13))).toBe(0);
  });

  it("stops at a gap in the middle, and is whole again after computing it anew (c)", () => {
    const kv = new PrefixKv(40, BLOCK);
    cache(kv, P);
    const holder = ask(P, 5);
    kv.admit(holder, 5, kv.match(holder));
    const tail = squeeze(kv, 0);
    kv.release(tail);
    kv.release(holder);
    expect(kv.match(ask(P, 13))).toBe(4);
    cache(kv, P);
    expect(kv.match(ask(P, 13))).toBe(12);
  });

  it("never is another prompt's block (d, f)", () => {
    const kv = new PrefixKv(12, BLOCK);
    cache(kv, P);
    cache(kv, [201, 202, 203]);
    expect(kv.match(ask(P, 13))).toBe(0);
    expect(kv.match(ask([201, 202, 203], 13))).toBe(12);
    expect(kv.match(ask([301, 302, 303], 13))).toBe(0);
  });

  it("is found out anew at every try (e): a hit of two blocks before is worth one after", () => {
    const kv = new PrefixKv(32, BLOCK);
    cache(kv, P.slice(0, 2));
    const asking = ask(P.slice(0, 2), 32);
    expect(kv.match(asking)).toBe(8);
    const filler = squeeze(kv, 1);
    expect(kv.admit(asking, 32, kv.match(asking))).toBe(false);
    expect(kv.match(asking)).toBe(4);
    kv.release(filler);
    expect(kv.admit(asking, 32, kv.match(asking))).toBe(true);
    expect(kv.reservedTokens).toBe(32);
  });

  it("is whole blocks only (g): six shared tokens give four", () => {
    const kv = new PrefixKv(40, BLOCK);
    cache(kv, [101, 102]);
    expect(kv.match(ask([101, 999], 8))).toBe(4);
  });

  it("is every token in a radix tree of tokens (g): six shared ones give six", () => {
    const kv = new RadixKv(40, 1);
    cache(kv, [1, 2, 3, 4, 5, 6, 7, 8], 1);
    expect(kv.match(ask([1, 2, 3, 4, 5, 6, 17, 18], 8))).toBe(6);
    // The same tokens under another adapter have other names (f).
    expect(kv.match(ask([11, 12, 13, 14, 15, 16, 17, 18], 8))).toBe(0);
  });

  it("is found out anew at every try in a radix tree too (a, e)", () => {
    const kv = new RadixKv(12, 1);
    cache(kv, [1, 2, 3, 4, 5, 6, 7, 8], 1);
    const asking = ask([1, 2, 3, 4, 5, 6, 7, 8], 12);
    expect(kv.match(asking)).toBe(8);
    const filler = ask([], 10);
    expect(kv.admit(filler, 10, kv.match(filler))).toBe(true);
    expect(kv.match(asking)).toBe(0);
    expect(kv.admit(asking, 12, 0)).toBe(false);
    kv.release(filler);
    expect(kv.admit(asking, 12, kv.match(asking))).toBe(true);
    kv.check([asking]);
  });
});
