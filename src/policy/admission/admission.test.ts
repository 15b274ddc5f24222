import { describe, expect, it } from "vitest";
import { fuzzAdmission } from "../../../test/support/admission-fuzz.ts";
import {
  DONE,
  doneAs,
  idsOf,
  machine,
  request,
  TWO_LANES,
} from "../../../test/support/admission-requests.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { Admission } from "./admission.ts";
import type { AdmissionOptions } from "./admission-options.ts";

const NEVER = Number.POSITIVE_INFINITY;

describe("any use of admission", () => {
  it("ends each id once, within all limits, and leaves no place free beside one who may go", () => {
    let pressed = 0;
    for (let seed = 1; seed <= 150; seed += 1) pressed += fuzzAdmission(seed, 300).pressed;
    expect(pressed).toBeGreaterThan(1_000);
  });
});

describe("lanes", () => {
  it("let no short request wait behind a long one", () => {
    const gate = machine(10, { lanes: TWO_LANES });
    for (let i = 0; i < 20; i += 1) gate.offer(request({ inputTokens: 5_000 }), 0);
    // 10 places: one for each lane, half of the other eight for the short one alone. The long one takes the rest.
    expect(gate.snapshot(0).lanes[1]).toMatchObject({ inFlight: 5, queued: 15 });
    const kinds = Array.from({ length: 6 }, () => gate.offer(request(), 0).kind);
    expect(kinds).toEqual(["admit", "admit", "admit", "admit", "admit", "queue"]);
  });

  it("cap the tokens of long ones in flight, but take one of any size alone", () => {
    const gate = machine(100, { lanes: TWO_LANES });
    const giant = request({ inputTokens: 80_000 });
    expect(gate.offer(giant, 0).kind).toBe("admit");
    const next = [20_000, 20_000, 20_000].map((inputTokens) => request({ inputTokens }));
    expect(next.map((one) => gate.offer(one, 0).kind)).toEqual(["queue", "queue", "queue"]);
    const admitted = gate.finish(giant.id, doneAs(giant), 1);
    expect(idsOf(admitted)).toEqual([next[0]!.id, next[1]!.id]);
  });

  it("give a place that nobody is guaranteed to the shorter one, and keep the longer one alive", () => {
    const gate = machine(4, { lanes: TWO_LANES.map((lane) => ({ ...lane, share: 0 })) });
    const first = Array.from({ length: 4 }, () => request());
    for (const one of first) gate.offer(one, 0);
    const long = request({ inputTokens: 9_000 });
    // Three shorts hold all that is not the long lane's own.
    expect(gate.snapshot(0).lanes[0]).toMatchObject({ inFlight: 3, queued: 1 });
    expect(gate.offer(long, 0).kind).toBe("admit");
    expect(idsOf(gate.finish(first[0]!.id, DONE, 1))).toEqual([first[3]!.id]);
  });

  it("are chosen by what the route's answers have been like", () => {
    const gate = machine(100, { lanes: TWO_LANES });
    const open = { inputTokens: 200, outputTokensMax: undefined };
    expect(gate.offer(request(open), 0)).toMatchObject({ lane: "short" });
    for (let i = 0; i < 30; i += 1) {
      const one = request(open);
      gate.offer(one, 0);
      gate.finish(one.id, { ...DONE, inputTokens: 200, outputTokens: 4_000 }, 0);
    }
    expect(gate.offer(request(open), 0)).toMatchObject({ lane: "long" });
    expect(gate.offer(request({ ...open, outputTokensMax: 100 }), 0)).toMatchObject({
      lane: "short",
    });
    expect(gate.offer(request({ ...open, route: "other" }), 0)).toMatchObject({ lane: "short" });
  });
});

describe("priorities", () => {
  it("go first, and in one class who came first", () => {
    const gate = machine(1);
    const running = request();
    gate.offer(running, 0);
    const waiting = [3, 0, 3, 1].map((priority) => request({ priority }));
    for (const one of waiting) gate.offer(one, 0);
    const order: number[] = [];
    let last = running.id;
    for (let i = 0; i < 4; i += 1) {
      [last] = idsOf(gate.finish(last, DONE, 1)) as [number];
      order.push(waiting.findIndex((one) => one.id === last));
    }
    expect(order).toEqual([1, 3, 0, 2]);
  });

  it("starve nobody: one of class 10 gets through an endless stream of class 0 by its age", () => {
    const started = (ageingUs: number): number => {
      const gate = machine(1, { ageingUs, ageMaxUs: 1_000 * US_PER_S });
      let running = request().id;
      gate.offer(request({ id: running }), 0);
      const low = request({ priority: 10 });
      gate.offer(low, 0);
      // A new one arrives each 100 ms and one ends: the queue never empties.
      gate.offer(request(), 0);
      for (let nowUs = 0; nowUs < 60 * US_PER_S; nowUs += 100 * US_PER_MS) {
        gate.advance(nowUs);
        gate.offer(request({ tenant: `t${nowUs % 7}` }), nowUs);
        [running] = idsOf(gate.finish(running, DONE, nowUs)) as [number];
        if (running === low.id) return nowUs;
      }
      return NEVER;
    };
    expect(started(US_PER_S)).toBeGreaterThanOrEqual(10 * US_PER_S);
    expect(started(US_PER_S)).toBeLessThan(12 * US_PER_S);
    expect(started(500 * US_PER_S)).toBe(NEVER);
  });
});

describe("overload", () => {
  /** One place, and the mean service time is known: a second. */
  function busy(options: AdmissionOptions = {}): { gate: Admission; running: number } {
    const gate = machine(1, options);
    const first = request();
    gate.offer(first, 0);
    gate.finish(first.id, DONE, US_PER_S);
    const running = request();
    gate.offer(running, US_PER_S);
    return { gate, running: running.id };
  }

  it("answers at once what cannot start before its deadline, with an honest Retry-After", () => {
    const { gate } = busy();
    for (let i = 0; i < 4; i += 1) gate.offer(request(), US_PER_S);
    const late = gate.offer(request({ deadlineUs: 4 * US_PER_S }), US_PER_S);
    expect(late).toMatchObject({ kind: "refuse", code: "MANX_OVERLOADED", reason: "deadline" });
    expect(late).toMatchObject({ retryAfterUs: 5 * US_PER_S });
    const inTime = gate.offer(request({ deadlineUs: 7 * US_PER_S }), US_PER_S);
    expect(inTime).toMatchObject({ kind: "queue", position: 4, estimateUs: 5 * US_PER_S });
  });

  it("never starts what is past its deadline", () => {
    const { gate, running } = busy();
    const late = request({ deadlineUs: 3 * US_PER_S });
    expect(gate.offer(late, US_PER_S).kind).toBe("queue");
    // Its time is up in the very moment in which a place gets free.
    const [refusal, ...rest] = gate.finish(running, DONE, 3 * US_PER_S);
    expect(refusal).toMatchObject({ id: late.id, code: "MANX_DEADLINE" });
    expect(rest).toEqual([]);
    const gone = gate.offer(request({ deadlineUs: 3 * US_PER_S }), 3 * US_PER_S);
    expect(gone).toMatchObject({ reason: "deadline-passed" });
  });

  it("lets nobody wait for longer than the age that it names", () => {
    const { gate } = busy({ ageMaxUs: 2 * US_PER_S });
    const waiting = request();
    expect(gate.offer(waiting, US_PER_S).kind).toBe("queue");
    expect(gate.nextDueUs).toBe(3 * US_PER_S);
    expect(gate.advance(3 * US_PER_S)).toMatchObject([{ id: waiting.id, reason: "age" }]);
    expect(gate.snapshot(3 * US_PER_S)).toMatchObject({ refused: { age: 1 } });
  });

  it("frees at once what a client that left was waiting for or holding", () => {
    const { gate, running } = busy();
    const [first, second] = [request(), request()];
    gate.offer(first, US_PER_S);
    gate.offer(second, US_PER_S);
    expect(gate.cancel(first.id, US_PER_S)).toEqual([]);
    expect(idsOf(gate.cancel(running, US_PER_S))).toEqual([second.id]);
    expect(gate.finish(running, DONE, US_PER_S)).toEqual([]);
  });
});

describe("limits that cannot be", () => {
  it.each<[string, AdmissionOptions]>([
    ["lanes", { lanes: [] }],
    ["lanes.long.tokensMax", { lanes: [TWO_LANES[0]!, { ...TWO_LANES[1]!, tokensMax: 9_000 }] }],
    ["lanes", { lanes: TWO_LANES.map((lane) => ({ ...lane, share: 0.7 })) }],
    ["concurrency.limit", { concurrency: { kind: "fixed", limit: 1 } }],
    ["tenant.concurrencyMax", { tenant: { concurrencyMax: 0 } }],
    ["tenants.x.weight", { tenants: { x: { weight: 0 } } }],
    ["queueMax", { queueMax: 0 }],
    ["ageMaxUs", { ageMaxUs: 0 }],
  ])("are refused by name: %s", (where, options) => {
    expect(() => new Admission(options)).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where: `admission.${where}` }),
    );
  });
});
