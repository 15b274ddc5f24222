import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import { type CostModel, ENGINE_DEFAULTS } from "../engine/index.ts";
import { Answer } from "./answer.ts";
import { parseChatRequest } from "./call-request.ts";
import { LiveCall } from "./live-call.ts";
import { LiveEngine } from "./live-engine.ts";

const fixed: CostModel = { name: "fixed", stepUs: () => 100 };

/** A client that writes down what it hears. */
function makeWorld(cost = fixed, waitingMax = 10) {
  const clock = new SimClock();
  const live = new LiveEngine({
    config: { ...ENGINE_DEFAULTS, sequencesMax: 2 },
    clock,
    servedModel: "twin",
    speed: 1,
    waitingMax,
    cost,
    checked: true,
  });
  const heard: string[] = [];
  const send = (name: string, tokens: number) => {
    live.assertOpen();
    const messages = [{ role: "user", content: name }];
    const request = parseChatRequest({ messages, manx: { output_tokens: tokens } });
    const delivery = {
      accepted: () => undefined,
      token: (i: number) => heard.push(`${name} ${i} @${clock.nowUs()}`),
      end: () => heard.push(`${name} end @${clock.nowUs()}`),
      fail: (error: ManxError) => heard.push(`${name} ${error.code}`),
    };
    return live.submit(
      new LiveCall(request, new Answer(request, 1_000, 1), delivery, clock.nowUs()),
    );
  };
  return { clock, live, heard, send };
}

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
    const { scheduler } = live.engine;
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
    const { engine } = new LiveEngine({ ...base, speed: 4, cost: fixed });
    engine.submit({ promptTokens: 1, outputTokens: 1 }, undefined);
    clock.step();
    expect(clock.nowUs()).toBe(25);
  });
});
