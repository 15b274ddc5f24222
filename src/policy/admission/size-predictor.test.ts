import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { SizePredictor } from "./size-predictor.ts";

function taught(lengths: () => number, times = 400): SizePredictor {
  const predictor = new SizePredictor();
  for (let i = 0; i < times; i += 1) predictor.record("route", lengths());
  return predictor;
}

describe("the predicted length of an answer", () => {
  it("is the 90th percentile of the route's own answers, to within 10 %", () => {
    const random = new Random(1, "lengths");
    const predicted = taught(() => 1 + random.int(1_000)).predict("route", undefined);
    expect(predicted).toBeGreaterThan(810);
    expect(predicted).toBeLessThan(990);
  });

  it("is at most what the request allows, and a guess for a route without a past", () => {
    const predictor = taught(() => 4_000);
    expect(predictor.predict("route", 100)).toBe(100);
    expect(predictor.predict("route", 100_000)).toBeLessThan(4_500);
    expect(predictor.predict("other", undefined)).toBe(512);
    expect(taught(() => 4_000, 19).predict("route", undefined)).toBe(512);
  });

  it("follows a route that changes", () => {
    const predictor = taught(() => 4_000);
    for (let i = 0; i < 2_000; i += 1) predictor.record("route", 50);
    expect(predictor.predict("route", undefined)).toBeLessThan(60);
  });

  it("remembers a bounded number of routes, those used last", () => {
    const predictor = new SizePredictor({ routesMax: 3 });
    for (let i = 0; i < 20; i += 1) {
      for (const route of ["a", "b", "c"]) predictor.record(route, 9);
    }
    predictor.record("a", 9);
    predictor.record("d", 9);
    expect(predictor.size).toBe(3);
    expect(predictor.predict("b", undefined)).toBe(512);
    expect(predictor.predict("a", undefined)).toBe(9);
  });

  it("takes an answer of any length", () => {
    const predictor = taught(() => 2 ** 40);
    expect(predictor.predict("route", undefined)).toBeGreaterThan(2 ** 20);
    expect(taught(() => 0).predict("route", undefined)).toBe(1);
  });
});
