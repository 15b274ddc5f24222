import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import {
  attribute,
  NO_TURN,
  type OpenSpan,
  type RecordedTurn,
  type TurnLimits,
  TurnRecorder,
  TurnTree,
} from "./index.ts";

const WALL_MS = Date.UTC(2026, 10, 29);

function started(limits: Partial<TurnLimits> = {}): { clock: SimClock; turn: TurnRecorder } {
  const clock = new SimClock(5_000_000, WALL_MS - 5_000);
  let byte = 0;
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => ++byte);
  return { clock, turn: new TurnRecorder({ clock, name: "agent", limits, bytes }) };
}

/** Name → what is asked for. */
function byName<Key extends keyof RecordedTurn["spans"][number]>(
  turn: RecordedTurn,
  key: Key,
): Record<string, unknown> {
  return Object.fromEntries(turn.spans.map((span) => [span.name, span[key]]));
}

describe("a recorded turn", () => {
  it("has its spans in a tree, with times from its own start and ids that OpenTelemetry takes", async () => {
    const { clock, turn } = started();
    const step = turn.begin("step", "step 1");
    const result = step.span("tool-call", "search", async (tool) => {
      tool.set("gen_ai.tool.call.id", "c1");
      await clock.sleepUntil(5_250_000);
      return 7;
    });
    await clock.run();
    expect(await result).toBe(7);
    const answer = step.span("orchestration", "parse", () => "sync");
    expect(answer).toBe("sync");
    step.end();
    const recorded = turn.finish();
    expect(recorded.traceId).toBe("0102030405060708090a0b0c0d0e0f10");
    expect(recorded.startedUnixUs).toBe(WALL_MS * 1_000);
    expect(recorded.spans.map(({ id, parentId }) => [id, parentId])).toEqual([
      ["1112131415161718", null],
      ["1112131415161719", "1112131415161718"],
      ["111213141516171a", "1112131415161719"],
      ["111213141516171b", "1112131415161719"],
    ]);
    expect(byName(recorded, "startUs")).toEqual({
      agent: 0,
      "step 1": 0,
      search: 0,
      parse: 250_000,
    });
    expect(byName(recorded, "endUs")).toMatchObject({ search: 250_000, agent: 250_000 });
    expect(new Set(Object.values(byName(recorded, "status")))).toEqual(new Set(["ok"]));
    expect(recorded.spans[2]!.attributes).toEqual({ "gen_ai.tool.call.id": "c1" });
    expect(attribute(new TurnTree(recorded.spans)).phases.tools).toBe(250_000);
  });

  it("tells how each span ended, and never what an error said", async () => {
    const { turn } = started();
    const boom = (thrown: unknown) => (): never => {
      throw thrown;
    };
    const coded = Object.assign(new Error("key sk-secret is wrong"), { code: "E_AUTH" });
    expect(() => turn.span("tool-call", "sync", boom(coded))).toThrow(coded);
    await expect(
      turn.span("tool-call", "async", async () => boom(new TypeError("secret"))()),
    ).rejects.toThrow("secret");
    const abort = new DOMException("stop", "AbortError");
    expect(() => turn.span("model-call", "aborted", boom(abort))).toThrow(abort);
    expect(() => turn.span("tool-call", "odd", boom(null))).toThrow();
    const twice = turn.begin("tool-call", "twice");
    twice.end("cancelled");
    twice.end("ok");
    twice.fail(new Error("late"));
    const recorded = turn.finish();
    expect(byName(recorded, "status")).toEqual({
      agent: "ok",
      sync: "error",
      async: "error",
      aborted: "cancelled",
      odd: "error",
      twice: "cancelled",
    });
    expect(byName(recorded, "attributes")).toMatchObject({
      sync: { "error.type": "E_AUTH" },
      async: { "error.type": "TypeError" },
      odd: { "error.type": "error" },
      twice: {},
    });
    expect(JSON.stringify(recorded)).not.toContain("secret");
  });

  it("ends with the turn what nobody ended, and keeps the true time of what ended later than its parent", () => {
    const { clock, turn } = started();
    const parent = turn.begin("agent", "parent");
    const child = parent.begin("tool-call", "late child");
    clock.runSync(5_100_000);
    parent.end();
    clock.runSync(5_300_000);
    child.end();
    turn.begin("model-call", "left open");
    clock.runSync(5_400_000);
    const recorded = turn.finish();
    expect(byName(recorded, "endUs")).toEqual({
      agent: 400_000,
      parent: 100_000,
      "late child": 300_000,
      "left open": 400_000,
    });
    expect(byName(recorded, "unfinished")).toMatchObject({ "left open": true, parent: undefined });
    expect(byName(recorded, "status")).toMatchObject({ "left open": "unset" });
  });

  it("takes nothing after its end, and ends once", () => {
    const { clock, turn } = started();
    const span = turn.begin("tool-call", "tool");
    const first = turn.finish("cancelled");
    const before = JSON.stringify(first);
    clock.runSync(6_000_000);
    span.set("key", "value");
    span.event("output-start");
    span.detach();
    span.end();
    expect(
      turn
        .begin("step", "after")
        .begin("tool-call", "after")
        .span("other", "x", () => 1),
    ).toBe(1);
    expect(turn.finish()).toBe(first);
    expect(JSON.stringify(first)).toBe(before);
    expect(first.spans[0]!.status).toBe("cancelled");
  });

  it("keeps declared phase, cause of cold, links, events and a start before it could be told", () => {
    const { clock, turn } = started();
    const model = turn.begin("model-call", "model");
    clock.runSync(5_200_000);
    model.event("output-start");
    model.event("output-end", 5_150_000);
    const tool = turn.begin("tool-call", "tool", {
      startUs: 5_150_000,
      after: [model],
      phase: "retrieval",
      cold: "first-call",
    });
    tool.detach();
    turn.begin("tool-call", "stranger", {
      after: [started().turn.begin("step", "of another turn")],
    });
    const { spans, dropped } = turn.finish();
    expect(spans[1]!.events).toEqual([
      { name: "output-start", atUs: 200_000 },
      { name: "output-end", atUs: 150_000 },
    ]);
    expect(spans[2]).toMatchObject({
      startUs: 150_000,
      links: [{ spanId: spans[1]!.id, relation: "after" }],
      phase: "retrieval",
      cold: "first-call",
      detached: true,
    });
    expect(dropped.links).toBe(1);
  });
});

describe("limits", () => {
  it("of spans: what is over them is counted, and its time is neither lost nor taken for something else", () => {
    const { clock, turn } = started({ spansMax: 3 });
    const step = turn.begin("step", "step");
    step.begin("tool-call", "kept").end();
    const over: OpenSpan = step.begin("tool-call", "over");
    over.set("a", 1);
    over.event("e");
    clock.runSync(5_100_000);
    over.span("retrieval", "below", () => clock.runSync(5_200_000));
    over.end();
    over.end();
    clock.runSync(5_250_000);
    const second = turn.begin("tool-call", "under the root");
    clock.runSync(5_300_000);
    expect(() =>
      second.span("other", "throws", () => {
        throw new Error("x");
      }),
    ).toThrow("x");
    const { spans, dropped } = turn.finish();
    expect(dropped).toMatchObject({ spans: 4, attributes: 1, events: 1 });
    expect(spans.map(({ kind, startUs, endUs }) => [kind, startUs, endUs])).toEqual([
      ["turn", 0, 300_000],
      ["step", 0, 300_000],
      ["tool-call", 0, 0],
      ["dropped", 0, 200_000],
      ["dropped", 250_000, 300_000],
    ]);
    expect(new Set(spans.map(({ id }) => id)).size).toBe(5);
    expect(spans.map(({ parentId }) => parentId)).toEqual([
      null,
      spans[0]!.id,
      spans[1]!.id,
      spans[1]!.id,
      spans[0]!.id,
    ]);
    expect(spans[4]).toMatchObject({ unfinished: true });
  });

  it("of text, values, events and links", () => {
    const { turn } = started({ textCharsMax: 60, valueCharsMax: 10, eventsMax: 2, linksMax: 1 });
    const a = turn.begin("step", "a name that is too long");
    a.set("prompt", "x".repeat(50));
    a.set("list", ["one", "two"]);
    a.set("count", 3);
    a.set("full", "y".repeat(10));
    a.set("more", "z".repeat(10));
    a.set("__proto__", "evil");
    a.set("a key that is too long", 1);
    for (const name of ["e1", "e2", "e3"]) a.event(name);
    turn.begin("step", "b", { after: [a, a, a] });
    const { spans, dropped } = turn.finish();
    expect(spans[1]).toMatchObject({
      name: "a name th…",
      events: [{ name: "e1" }, { name: "e2" }],
    });
    expect(spans[1]!.attributes).toEqual({
      prompt: "xxxxxxxxx…",
      list: ["one", "two"],
      count: 3,
      full: "yyyyyyyyyy",
    });
    expect(spans[2]!.links).toHaveLength(1);
    expect(dropped).toEqual({ spans: 0, attributes: 3, events: 1, links: 2, cut: 2 });
  });

  it("hold for lists of nothing, and for one attribute set over and over", () => {
    const { turn } = started({ textCharsMax: 100, valueCharsMax: 50 });
    turn.set(
      "empty",
      Array.from({ length: 1_000_000 }, () => ""),
    );
    for (let i = 0; i < 1_000; i += 1) turn.set("k", i);
    const { spans, dropped } = turn.finish();
    expect(spans[0]!.attributes).toEqual({ empty: Array.from({ length: 50 }, () => ""), k: 999 });
    expect(dropped.attributes).toBe(0);
  });
});

describe("tracing off", () => {
  it("runs everything and records nothing", () => {
    const step = NO_TURN.begin("step", "step");
    expect(step.span("tool-call", "tool", (span) => span.begin("other", "x") && 5)).toBe(5);
    step.set("a", 1);
    step.event("b");
    step.detach();
    step.fail(new Error("x"));
    step.end();
    expect(NO_TURN.finish()).toBeNull();
  });
});
