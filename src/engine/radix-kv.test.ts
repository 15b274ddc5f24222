import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RadixKv } from "./radix-kv.ts";
import { EngineRequest } from "./request.ts";

function ask(prefixIds: readonly number[], promptTokens = prefixIds.length): EngineRequest {
  return new EngineRequest({ promptTokens, outputTokens: 9, prefixIds }, 0, undefined);
}

/** Lets a prompt in, computes it, and keeps it running. */
function run(kv: RadixKv, request: EngineRequest): EngineRequest {
  expect(kv.admit(request, request.known, kv.match(request))).toBe(true);
  request.computed = request.known;
  if (request.computed >= request.sealTokens) kv.seal(request);
  return request;
}

describe("RadixKv", () => {
  it("shares what is computed once, and gives back what two computed at the same time", () => {
    const kv = new RadixKv(100, 1);
    const first = ask([1, 2, 3, 4]);
    const second = ask([1, 2, 3, 5]);
    kv.admit(first, 4, kv.match(first));
    kv.admit(second, 4, kv.match(second));
    expect([kv.reservedTokens, kv.sharedTokens]).toEqual([8, 0]);
    for (const request of [first, second]) {
      request.computed = 4;
      kv.seal(request);
    }
    // 1 2 3 once for both, 4 and 5.
    expect([kv.reservedTokens, kv.sharedTokens]).toEqual([5, 3]);
    kv.check([first, second]);
    kv.release(first);
    kv.check([second]);
    expect([kv.reservedTokens, kv.sharedTokens]).toEqual([4, 0]);
  });

  it("evicts the leaf that has been idle for longest, never what is in use or above it", () => {
    const kv = new RadixKv(10, 1);
    const held = run(kv, ask([1, 2, 3]));
    kv.release(run(kv, ask([1, 2, 4])));
    kv.release(run(kv, ask([5, 6])));
    expect(kv.reservedTokens).toBe(3);
    // Four free and three idle; five tokens take the oldest leaf, 4.
    const big = run(kv, ask([7, 8, 9, 10, 11]));
    expect(kv.match(ask([1, 2, 4, 0]))).toBe(2);
    expect(kv.match(ask([5, 6, 0]))).toBe(2);
    const toMuch = ask([12, 13, 14]);
    expect(kv.admit(toMuch, 3, kv.match(toMuch))).toBe(false);
    kv.check([held, big]);
  });

  it("does not count a match as room for the rest of the same prompt", () => {
    const kv = new RadixKv(6, 1);
    kv.release(run(kv, ask([1, 2, 3, 4])));
    const longer = ask([1, 2, 3, 4, 5, 6, 7]);
    expect(kv.admit(longer, 7, kv.match(longer))).toBe(false);
    kv.check([]);
    const fits = ask([1, 2, 3, 4, 5, 6]);
    expect(kv.admit(fits, 6, kv.match(fits))).toBe(true);
    kv.check([fits]);
  });

  it("matches whole pieces, and of an equally named last one what both have", () => {
    const kv = new RadixKv(1_000, 16);
    kv.release(run(kv, ask([1, 2], 24)));
    expect(kv.match(ask([1, 3], 32))).toBe(16);
    expect(kv.match(ask([1, 2], 32))).toBe(24);
    expect(kv.match(ask([1, 2], 24))).toBe(23);
    expect(kv.match(ask([9, 2], 32))).toBe(0);
  });

  it("lets one that was thrown out find its answer again, and nobody else", () => {
    const kv = new RadixKv(100, 4);
    const request = run(kv, ask([1, 2], 8));
    request.generated = 5;
    kv.reserve(request, 12);
    request.computed = 12;
    kv.release(request, true);
    request.computed = 0;
    expect(kv.match(request)).toBe(12);
    expect(kv.match(ask([1, 2, 3], 13))).toBe(8);
    kv.check([]);
  });

  it("finds as much as a plain list of all prompts would, whatever comes and goes", () => {
    const prompt = fc.record({
      names: fc.array(fc.nat(2), { minLength: 1, maxLength: 12 }),
      release: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(prompt, { maxLength: 40 }), (prompts) => {
        // So large that nothing is ever evicted.
        const kv = new RadixKv(10_000, 1);
        const seen: number[][] = [];
        const running: EngineRequest[] = [];
        for (const { names, release } of prompts) {
          // A name stands for all before it too, as a hash over the prefix does.
          const ids = names.map((_, i) => Number(`9${names.slice(0, i + 1).join("")}`));
          const common = seen.map((other) => ids.findIndex((id, i) => other[i] !== id));
          const longest = Math.max(0, ...common.map((at) => (at < 0 ? ids.length : at)));
          const request = ask(ids);
          expect(kv.match(request)).toBe(Math.min(longest, ids.length - 1));
          running.push(run(kv, request));
          seen.push(ids);
          if (release) kv.release(running.shift()!);
          kv.check(running);
        }
      }),
      { numRuns: 100 },
    );
  });
});
