import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import { type CostModel, ENGINE_DEFAULTS } from "../engine/index.ts";
import { Answer } from "./answer.ts";
import { parseChatRequest } from "./call-request.ts";
import { LiveCall } from "./live-call.ts";
import { LiveEngine, type LiveEngineOptions } from "./live-engine.ts";

const fixed: CostModel = { name: "fixed", stepUs: () => 100 };

/** A client that writes down what it hears. */
function makeWorld(cost = fixed, waitingMax = 10, more: Partial<LiveEngineOptions> = {}) {
  const clock = new SimClock();
  const live = new LiveEngine({
    config: { ...ENGINE_DEFAULTS, sequencesMax: 2 },
    clock,
    servedModel: "twin",
    speed: 1,
    waitingMax,
    cost,
    checked: true,
    ...more,
  });
  const heard: string[] = [];
  const send = (name: string, tokens: number) => {
    live.assertOpen();
    const messages = [{ role: "user", content: name }];
    const request = parseChatRequest({ messages, manx: { output_tokens: tokens } });
    const delivery = {
      accepted: () => undefined,
      tokens: (from: number) => heard.push(`${name} ${from} @${clock.nowUs()}`),
      end: () => heard.push(`${name} end @${clock.nowUs()}`),
      fail: (error: ManxError) => heard.push(`${name} ${error.code}`),
    };
    return live.submit(
      new LiveCall({
        request,
        answer: new Answer(request, 1_000, 1),
        delivery,
        arrivedUs: clock.nowUs(),
      }),
    );
  };
  return { clock, live, heard, send };
}

const pools = { prefill: 1, decode: 1, link: "nvlink" as const };

describe("LiveEngine", () => {
  it("delivers each token and the end when its step ends", () => {
    const { clock, live, heard, send } = makeWorld();
    send("a", 2);
    clock.runSync();
    expect(heard).toEqual(["a 0 @100", "a 1 @200", "a end @200"]);
    expect(live.open).toBe(0);
  });

  it("says nothing more to a call that was aborted, and frees its memory by the end of the step", () => {
    const { clock, live, heard, send } = makeWorld();
    const gone = send("a", 50);
    send("b", 2);
    clock.runSync(150);
    live.abort(gone);
    live.abort(gone);
    clock.runSync();
    expect(heard.filter((line) => line.startsWith("a"))).toEqual(["a 0 @100"]);
    expect(heard.at(-1)).toMatch(/^b end/);
    const { scheduler } = live.engines[0]!;
    expect([scheduler.running, scheduler.kv.reservedTokens, live.open]).toEqual([0, 0, 0]);
  });

  it("tells every open call when a step throws, and takes no more", () => {
    let steps = 0;
    const failing: CostModel = {
      name: "failing",
      stepUs: () => {
        steps += 1;
        if (steps === 3) throw new Error("out of order");
        return 100;
      },
    };
    const { clock, live, heard, send } = makeWorld(failing);
    send("a", 50);
    send("b", 50);
    send("c", 50);
    clock.runSync();
    expect(heard.filter((line) => line.includes("MANX_INTERNAL"))).toHaveLength(3);
    expect(live.failure?.message).toBe("out of order");
    expect(live.open).toBe(0);
    expect(() => send("d", 1)).toThrow("out of order");
  });

  it("takes no more than its queue may hold", () => {
    const { clock, heard, send } = makeWorld(fixed, 2);
    // The first is in a step at once; the others wait until it has ended.
    for (const name of ["a", "b", "c"]) send(name, 1);
    expect(() => send("d", 1)).toThrow(expect.objectContaining({ code: "MANX_OVERLOADED" }));
    clock.runSync();
    send("e", 1);
    clock.runSync();
    expect(heard.filter((line) => line.includes("end"))).toHaveLength(4);
  });

  it("runs faster by its speed, and refuses one that is none", () => {
    const clock = new SimClock();
    const base = { config: ENGINE_DEFAULTS, clock, servedModel: "twin", waitingMax: 1 };
    for (const speed of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new LiveEngine({ ...base, speed })).toThrow(
        expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", where: "speed" }),
      );
    }
    const live = new LiveEngine({ ...base, speed: 4, cost: fixed });
    live.engines[0]!.submit({ promptTokens: 1, outputTokens: 1 }, undefined);
    clock.step();
    expect(clock.nowUs()).toBe(25);
  });

  it("spreads requests over replicas, and gives each place back once", () => {
    const { clock, live, send } = makeWorld(fixed, 10, { replicas: 3, routing: "least-load" });
    const calls = ["a", "b", "c", "d"].map((name) => send(name, 5));
    expect(calls.map(({ tag }) => tag.entry)).toEqual([0, 1, 2, 0]);
    clock.runSync(150);
    live.abort(calls[1]!);
    live.abort(calls[1]!);
    // Replica 1 has nothing open any more, so the next is its.
    expect(send("e", 5).tag.entry).toBe(1);
    clock.runSync();
    const left = live.engines.map(({ scheduler }) => scheduler.kv.reservedTokens);
    expect([left, live.open]).toEqual([[0, 0, 0], 0]);
  });

  it("starts a cold replica at its time, faster by its speed", () => {
    const { clock, heard, send } = makeWorld(fixed, 10, {
      replicas: 2,
      speed: 2,
      fleet: { readyUs: [0, 10_000] },
    });
    send("warm", 1);
    send("cold", 1);
    clock.runSync();
    expect(heard.filter((line) => line.includes("end"))).toEqual([
      "warm end @50",
      "cold end @5050",
    ]);
  });

  it("prefills and decodes in pools, and aborts in either", () => {
    const { clock, live, heard, send } = makeWorld(fixed, 10, {
      config: { ...ENGINE_DEFAULTS, pools: { prefill: 1, decode: 2, link: "nvlink" } },
    });
    const gone = send("a", 500);
    send("b", 3);
    clock.runSync(5_000);
    live.abort(gone);
    clock.runSync();
    expect(live.engines).toHaveLength(3);
    expect(heard.filter((line) => /^b \d/.test(line))).toHaveLength(3);
    const left = live.engines.map(({ scheduler }) => scheduler.kv.reservedTokens);
    expect([left, live.open]).toEqual([[0, 0, 0], 0]);
  });

  it.each([
    [{ replicas: 0 }, "1 to 31 engines in one server"],
    [{ replicas: 32 }, "1 to 31 engines in one server"],
    [{ replicas: 2, config: { ...ENGINE_DEFAULTS, pools } }, "1 with pools"],
    [{ replicas: 2, fleet: { noisyReplicas: [2] } }, "replicas from 0 to 1"],
  ])("refuses %.80j", (more, expected) => {
    expect(() => makeWorld(fixed, 10, more)).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", expected }),
    );
  });
});
