import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockIndex } from "./block-index.ts";

const REPLICAS = 3;

function held(index: BlockIndex, names: readonly number[]): number[] {
  const into = new Int32Array(REPLICAS);
  index.match(names, into);
  return [...into];
}

/** Of exactly so many nodes. */
function indexOf(nodes: number): BlockIndex {
  const index = new BlockIndex({ replicas: REPLICAS, bytesMax: nodes * (64 + 4 * REPLICAS) });
  expect(index.nodesMax).toBe(nodes);
  return index;
}

/** A walk down a tree of three branches a node: equal names are equal prefixes. */
const path = fc.array(fc.nat(2), { maxLength: 7 }).map((steps) => {
  let name = 1;
  return steps.map((step) => {
    name = name * 3 + step;
    return name;
  });
});

describe("BlockIndex", () => {
  it("holds what a replica was sent, up to the first block that differs", () => {
    const index = indexOf(100);
    index.remember([1, 2, 3], 0, 100);
    index.remember([1, 2, 4], 2, 100);
    expect(held(index, [1, 2, 3, 9])).toEqual([3, 0, 2]);
    expect(held(index, [1, 2, 4])).toEqual([2, 0, 3]);
    expect(held(index, [5, 2, 3])).toEqual([0, 0, 0]);
    expect(held(index, [])).toEqual([0, 0, 0]);
    expect(index.nodes).toBe(4);
  });

  it("agrees with a plain list of what was sent while there is room", () => {
    const sent = fc.array(fc.tuple(path, fc.nat(REPLICAS - 1)), { maxLength: 60 });
    fc.assert(
      fc.property(sent, path, (all, asked) => {
        const index = indexOf(2_000);
        for (const [names, replica] of all) index.remember(names, replica, 10);
        const expected = Array.from({ length: REPLICAS }, (_, replica) => {
          const own = new Set(all.filter(([, at]) => at === replica).flatMap(([names]) => names));
          const gap = asked.findIndex((name) => !own.has(name));
          return gap < 0 ? asked.length : gap;
        });
        expect(held(index, asked)).toEqual(expected);
      }),
    );
  });

  it("never outgrows its bound, never has a gap, and keeps what was used last", () => {
    const sent = fc.array(fc.tuple(path, fc.nat(REPLICAS - 1)), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(sent, fc.integer({ min: 1, max: 20 }), (all, nodes) => {
        const index = indexOf(nodes);
        for (const [names, replica] of all) {
          index.remember(names, replica, 10);
          expect(index.nodes).toBeLessThanOrEqual(nodes);
          // The prompt just sent is held as far as the whole index reaches.
          expect(held(index, names)[replica]).toBe(Math.min(nodes, names.length));
          for (const [before] of all) {
            // A name that is known below one that is not would be a wasted node.
            const known = before.map((name) => index.knows(name));
            expect(known.lastIndexOf(true)).toBe(
              known.indexOf(false) < 0 ? known.length - 1 : known.indexOf(false) - 1,
            );
          }
        }
      }),
    );
  });

  it("takes for gone what the replica's cache has no room for any more", () => {
    const index = indexOf(100);
    index.setCache(0, 100_000);
    index.remember([1], 0, 50_000);
    index.remember([2], 0, 40_000);
    expect([held(index, [1])[0], held(index, [2])[0]]).toEqual([1, 1]);
    index.remember([1], 0, 0);
    index.remember([3], 0, 90_000);
    // 1 was used after 2 came, so that it is the younger one.
    expect([held(index, [1])[0], held(index, [2])[0], held(index, [3])[0]]).toEqual([1, 0, 1]);
    index.remember([4], 0, 90_000);
    expect([held(index, [1])[0], held(index, [3])[0], held(index, [4])[0]]).toEqual([0, 0, 1]);
  });

  it("forgets a replica that was restarted, and no other", () => {
    const index = indexOf(100);
    for (const replica of [0, 1]) index.remember([1, 2], replica, 5);
    index.forget(1);
    expect(held(index, [1, 2])).toEqual([2, 0, 0]);
    index.remember([1], 1, 5);
    expect(held(index, [1, 2])).toEqual([2, 1, 0]);
  });

  it("says how much it holds", () => {
    const index = new BlockIndex({ replicas: 256, bytesMax: 2 ** 20 });
    for (let i = 0; i < 5_000; i += 1) index.remember([i], i % 256, 100);
    expect(index.nodes).toBe(index.nodesMax);
    expect(index.bytes).toBeLessThanOrEqual(2 ** 20);
    expect(index.bytes).toBeGreaterThan(2 ** 19);
  });
});
