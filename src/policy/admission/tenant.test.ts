import { describe, expect, it } from "vitest";
import { DONE, doneAs, idsOf, machine, request } from "../../../test/support/admission-requests.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { Admission } from "./admission.ts";
import type { AdmissionRequest, Decision } from "./decision.ts";

const NEVER = Number.POSITIVE_INFINITY;

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

  it("are charged for what was served, not for what was predicted or taken back", () => {
    const gate = machine(10);
    const open = request({ inputTokens: 100, outputTokensMax: undefined });
    gate.offer(request({ inputTokens: 0, outputTokensMax: 0 }), 0);
    const served = (): number | undefined => gate.snapshot(0).tenants[0]?.served;
    gate.offer(open, 0);
    expect(served()).toBe(100 + 2 * 512);
    gate.defer(open.id, US_PER_S, 0);
    expect(served()).toBe(0);
    gate.advance(US_PER_S);
    gate.finish(open.id, { ...DONE, inputTokens: 90, outputTokens: 10 }, US_PER_S);
    expect(served()).toBe(90 + 2 * 10);
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
    const early = request();
    expect(gate.offer(early, retryAfterUs - 10 * US_PER_MS).kind).toBe("queue");
    gate.cancel(early.id, retryAfterUs);
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

  it("kept elsewhere, with room again before its time: those that it held back go at once", () => {
    const gate = machine(10);
    const [first, second] = [request(), request()];
    gate.offer(first, 0);
    gate.defer(first.id, 2 * US_PER_S, 0);
    gate.offer(second, 0);
    expect(gate.undefer("nobody", US_PER_S)).toEqual([]);
    expect(idsOf(gate.undefer(first.tenant, US_PER_S))).toEqual([first.id, second.id]);
    expect(gate.undefer(first.tenant, US_PER_S)).toEqual([]);
  });
});
