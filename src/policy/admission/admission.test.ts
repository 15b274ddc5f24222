import { describe, expect, it } from "vitest";
import { fuzzAdmission } from "../../../test/support/admission-fuzz.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { Admission } from "./admission.ts";
import type { AdmissionOptions, LaneOptions } from "./admission-options.ts";
import type { AdmissionRequest, Decision, Outcome } from "./decision.ts";

const NEVER = Number.POSITIVE_INFINITY;
const ONE_LANE: readonly LaneOptions[] = [
  { name: "all", tokensMax: NEVER, share: 0, tokensInFlightMax: NEVER },
];
const TWO_LANES: readonly LaneOptions[] = [
  { name: "short", tokensMax: 1_000, share: 0.5, tokensInFlightMax: NEVER },
  { name: "long", tokensMax: NEVER, share: 0, tokensInFlightMax: 50_000 },
];

let ids = 0;
/** One of 100 tokens, 1 of them predicted answer, unless told otherwise. */
function request(parts: Partial<AdmissionRequest> = {}): AdmissionRequest {
  ids += 1;
  return {
    id: ids,
    tenant: "a",
    priority: 0,
    inputTokens: 99,
    outputTokensMax: 1,
    route: "m",
    deadlineUs: NEVER,
    ...parts,
  };
}

function machine(limit: number, options: AdmissionOptions = {}): Admission {
  return new Admission({ lanes: ONE_LANE, concurrency: { kind: "fixed", limit }, ...options });
}

const DONE: Outcome = { inputTokens: 99, outputTokens: 1, ttftUs: undefined, ok: true };

/** As predicted. */
function doneAs({ inputTokens, outputTokensMax }: AdmissionRequest): Outcome {
  return { ...DONE, inputTokens, outputTokens: outputTokensMax ?? 512 };
}

const idsOf = (decisions: readonly Decision[]): number[] =>
  decisions.map((one) => (one.kind === "admit" ? one.id : -one.id));

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

describe("tenants", () => {
  /** Keeps `limit` places busy from queues that never empty; answers tokens started by tenant. */
  function serve(gate: Admission, load: ReadonlyMap<string, number>, rounds: number) {
    const served = new Map<string, number>();
    const requests = new Map<number, AdmissionRequest>();
    const running: number[] = [];
    const offer = (tenant: string, inputTokens: number): void => {
      const one = request({ tenant, inputTokens });
      requests.set(one.id, one);
      started([gate.offer(one, 0)]);
    };
    const started = (decisions: readonly Decision[]): void => {
      for (const { kind, id } of decisions) {
        if (kind !== "admit") continue;
        running.push(id);
        const { tenant, inputTokens } = requests.get(id)!;
        served.set(tenant, (served.get(tenant) ?? 0) + inputTokens);
        // Its place in the queue is taken again.
        offer(tenant, load.get(tenant)!);
      }
    };
    for (const [tenant, inputTokens] of load) {
      for (let i = 0; i < 5; i += 1) offer(tenant, inputTokens);
    }
    for (let round = 0; round < rounds; round += 1) {
      const id = running.shift()!;
      started(gate.finish(id, doneAs(requests.get(id)!), 0));
    }
    return served;
  }

  it("that wait are served the same tokens, however large their requests are", () => {
    const load = new Map([
      ["small", 100],
      ["large", 4_000],
    ]);
    const served = serve(machine(4), load, 5_000);
    expect(served.get("small")! / served.get("large")!).toBeGreaterThan(0.95);
    expect(served.get("small")! / served.get("large")!).toBeLessThan(1.05);
  });

  it("are served by weight", () => {
    const gate = machine(4, { tenants: { gold: { weight: 3 } } });
    const served = serve(gate, new Map([["gold", 500], ["iron", 500]]), 4_000); // biome-ignore format: one line
    expect(served.get("gold")! / served.get("iron")!).toBeCloseTo(3, 1);
  });

  it("neither save up a claim while away nor pay for what ran while nobody else was there", () => {
    const gate = machine(2);
    const running: AdmissionRequest[] = [];
    const run = (tenant: string): AdmissionRequest => {
      const one = request({ tenant });
      gate.offer(one, 0);
      running.push(one);
      return one;
    };
    // "old" has been served a lot, alone.
    for (let i = 0; i < 500; i += 1) gate.finish(run("old").id, DONE, 0);
    running.length = 0;
    run("old");
    run("old");
    const waiting = ["old", "new", "old", "new", "old", "new"].map(run);
    running.splice(2);
    const order: string[] = [];
    const queue = running.map((one) => one.id);
    while (order.length < 6) {
      for (const id of idsOf(gate.finish(queue.shift()!, DONE, 0))) {
        queue.push(id);
        order.push(waiting.find((one) => one.id === id)!.tenant);
      }
    }
    // The two in hand are charged to "old", so "new" is two ahead, and no more than that.
    expect(order.slice(0, 4).filter((name) => name === "new").length).toBeGreaterThanOrEqual(2);
    expect(order.slice(0, 4)).toContain("old");
  });

  it("have a concurrency of their own, in which others do not stand", () => {
    const gate = machine(10, { tenant: { concurrencyMax: 2 } });
    const first = [request(), request(), request()];
    expect(first.map((one) => gate.offer(one, 0).kind)).toEqual(["admit", "admit", "queue"]);
    expect(gate.offer(request({ tenant: "b" }), 0).kind).toBe("admit");
    expect(idsOf(gate.finish(first[0]!.id, DONE, 1))).toEqual([first[2]!.id]);
  });

  it("cannot fill a lane's queue alone", () => {
    const gate = machine(1, { queueMax: 90 });
    gate.offer(request(), 0);
    const kinds = Array.from({ length: 100 }, () => gate.offer(request(), 0));
    const refused = kinds.filter((one) => one.kind === "refuse");
    expect(kinds.length - refused.length).toBe(80);
    expect(refused[0]).toMatchObject({ code: "MANX_OVERLOADED", reason: "tenant-queue-full" });
    expect(gate.offer(request({ tenant: "b" }), 0).kind).toBe("queue");
    for (let i = 0; i < 9; i += 1) gate.offer(request({ tenant: `c${i}` }), 0);
    expect(gate.offer(request({ tenant: "d" }), 0)).toMatchObject({ reason: "queue-full" });
  });

  it("are bounded in number, and one with a rate in use is forgotten last", () => {
    const limits = { tokensPerMinute: 600, burstTokens: 100 };
    const gate = machine(4, { tenantsMax: 8, tenants: { debtor: limits } });
    const debtor = request({ tenant: "debtor", inputTokens: 1_099 });
    gate.offer(debtor, 0);
    gate.finish(debtor.id, doneAs(debtor), 0);
    for (let i = 0; i < 1_000; i += 1) {
      const one = request({ tenant: `passing ${i}` });
      gate.offer(one, 0);
      gate.finish(one.id, DONE, 0);
    }
    expect(gate.snapshot(0).tenantsKnown).toBeLessThanOrEqual(12);
    expect(gate.offer(request({ tenant: "debtor" }), 0)).toMatchObject({ reason: "rate" });
  });
});

describe("a token rate", () => {
  const limits = { tokensPerMinute: 6_000, burstTokens: 1_000 };

  it("holds over any window, to within one request", () => {
    const gate = machine(1_000, { tenant: limits, ageMaxUs: 100_000 * US_PER_S });
    const starts: { atUs: number; tokens: number }[] = [];
    const sizes = new Map<number, AdmissionRequest>();
    const note = (decisions: readonly Decision[], atUs: number): void => {
      for (const { kind, id } of decisions) {
        if (kind !== "admit") continue;
        const one = sizes.get(id)!;
        starts.push({ atUs, tokens: one.inputTokens + 1 });
        gate.finish(id, doneAs(one), atUs);
      }
    };
    for (let i = 0; i < 300; i += 1) {
      const one = request({ inputTokens: 50 + ((i * 37) % 450) });
      sizes.set(one.id, one);
      note([gate.offer(one, 0)], 0);
    }
    while (gate.nextDueUs < NEVER) {
      const nowUs = gate.nextDueUs;
      note(gate.advance(nowUs), nowUs);
    }
    expect(starts).toHaveLength(300);
    for (let from = 0; from < 300; from += 7) {
      let sum = 0;
      for (let to = from; to < 300; to += 1) {
        sum += starts[to]!.tokens;
        const allowed = 1_000 + ((starts[to]!.atUs - starts[from]!.atUs) / US_PER_S) * 100 + 500;
        expect(sum).toBeLessThanOrEqual(allowed);
      }
    }
    // And it is used: 300 requests of 275 tokens on average at 100 a second.
    const lastS = starts.at(-1)!.atUs / US_PER_S;
    expect(lastS).toBeGreaterThan(700);
    expect(lastS).toBeLessThan(830);
  });

  it("refuses with the moment at which it would let go", () => {
    const gate = machine(10, { tenant: limits, ageMaxUs: 5 * US_PER_S });
    const big = request({ inputTokens: 2_999 });
    gate.offer(big, 0);
    const refused = gate.offer(request(), 0);
    expect(refused).toMatchObject({ kind: "refuse", code: "MANX_RATE_LIMITED", reason: "rate" });
    const { retryAfterUs } = refused as Decision & { kind: "refuse" };
    expect(gate.offer(request(), retryAfterUs - 10 * US_PER_MS).kind).toBe("queue");
    gate.cancel(ids, retryAfterUs);
    expect(gate.offer(request(), retryAfterUs).kind).toBe("admit");
  });

  it("gives back what was predicted and not used", () => {
    const gate = machine(10, { tenant: limits });
    const open = request({ inputTokens: 100, outputTokensMax: undefined });
    gate.offer(open, 0);
    const left = (): number | undefined => gate.snapshot(0).tenants[0]?.tokensLeft;
    gate.offer(request({ inputTokens: 0, outputTokensMax: 0 }), 0);
    expect(left()).toBe(1_000 - 612);
    gate.finish(open.id, { ...DONE, inputTokens: 90, outputTokens: 10 }, 0);
    expect(left()).toBe(900);
  });

  it("kept elsewhere defers: the request waits at the head of its line until then", () => {
    const gate = machine(10);
    const [first, second] = [request(), request()];
    gate.offer(first, 0);
    expect(gate.defer(first.id, 2 * US_PER_S, 0)).toEqual([]);
    expect(gate.offer(second, 0).kind).toBe("queue");
    expect(gate.offer(request({ tenant: "b" }), 0).kind).toBe("admit");
    expect(gate.nextDueUs).toBe(2 * US_PER_S);
    expect(idsOf(gate.advance(2 * US_PER_S))).toEqual([first.id, second.id]);
    const [refusal] = gate.defer(first.id, 40 * US_PER_S, 2 * US_PER_S);
    expect(refusal).toMatchObject({ reason: "rate", retryAfterUs: 38 * US_PER_S });
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
