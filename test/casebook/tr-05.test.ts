/** TR-05 — Streaming spans that end too early or never. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../src/clock/index.ts";
import {
  observeStream,
  type Span,
  type TurnRecord,
  TurnRecorder,
  turnRecord,
} from "../../src/trace/index.ts";
import { span } from "../support/span-forest.ts";

const MS = 1_000;

function record(spans: readonly Span[]): TurnRecord {
  return turnRecord({ traceId: "t", spans, startedUnixUs: null });
}

const ROOT = span("agent", null, "turn", 0, 10_000 * MS);
const FIRST = span("chat 1", "agent", "model-call", 0, 120 * MS, {
  events: [{ name: "output-start", atUs: 900 * MS }],
});
const TOOL = span("tool", "agent", "tool-call", 2_400 * MS, 2_900 * MS);
const SECOND = span("chat 2", "agent", "model-call", 2_900 * MS, 2_950 * MS);
const ANSWER = span("answer", "agent", "orchestration", 9_800 * MS, 10_000 * MS);

/** Each stretch of which nothing is known, with its text. */
function holes({ findings }: TurnRecord): [number, number, string][] {
  return findings
    .filter(({ code }) => code === "gap")
    .map(({ startUs, endUs, text }) => [startUs! / MS, endUs! / MS, text]);
}

describe("TR-05: a span that was closed at the first byte", () => {
  const made = record([ROOT, FIRST, TOOL, SECOND, ANSWER]);

  it("does not make the model fast: what follows it is uncovered, 91 % of the turn", () => {
    expect(holes(made)).toEqual([
      [120, 2_400, 'nothing says what happened in "agent" after "chat 1"'],
      [2_950, 9_800, 'nothing says what happened in "agent" after "chat 2"'],
    ]);
    const lostUs = made.subs.find(({ sub }) => sub === "not-instrumented")!.us;
    expect(Math.round((100 * lostUs) / made.wallUs)).toBe(91);
    expect([made.phases.prefill, made.phases.decode]).toEqual([0, 0]);
  });

  it("is found by its own event, which came after its end", () => {
    expect(made.findings).toContainEqual(
      expect.objectContaining({
        code: "closed-early",
        spanId: "chat 1",
        startUs: 120 * MS,
        endUs: 900 * MS,
      }),
    );
  });
});

describe("TR-05: a span that is missing", () => {
  it("leaves a gap, which is not given to the tool", () => {
    const made = record([ROOT, FIRST, TOOL, ANSWER]);
    expect(made.phases.tools).toBe(500 * MS);
    expect(holes(made)[1]).toEqual([
      2_900,
      9_800,
      'nothing says what happened in "agent" after "tool"',
    ]);
  });
});

describe("TR-05: a child that ends after its parent", () => {
  it("keeps its true time; the parent is not stretched and has no negative time of its own", () => {
    const late = span("upload", "tool", "other", 2_800 * MS, 4_400 * MS);
    const made = record([ROOT, FIRST, TOOL, late, SECOND, ANSWER]);
    expect(made.spans.find(({ id }) => id === "upload")!.endUs).toBe(4_400 * MS);
    expect(made.phases).toEqual(record([ROOT, FIRST, TOOL, SECOND, ANSWER]).phases);
    for (const { startUs, endUs } of made.path) expect(endUs).toBeGreaterThan(startUs);
    expect(made.findings).toContainEqual(
      expect.objectContaining({
        code: "late-child",
        spanId: "upload",
        startUs: 2_900 * MS,
        endUs: 4_400 * MS,
      }),
    );
  });
});

describe("TR-05: our own instrumentation of a stream", () => {
  /** One call whose consumer does what is told; answers the one model span there is. */
  async function consumed(
    consume: (stream: AsyncIterable<number>) => Promise<void>,
  ): Promise<Span> {
    const clock = new SimClock();
    const turn = new TurnRecorder({ clock, name: "agent" });
    async function* provider(): AsyncGenerator<number> {
      for (let chunk = 1; chunk <= 5; chunk += 1) {
        await clock.sleepUntil(clock.nowUs() + 100 * MS);
        if (chunk === 4) throw new TypeError("socket closed");
        yield chunk;
      }
    }
    const stream = observeStream(turn.begin("model-call", "m"), provider(), clock, {
      read: () => ({ isOutput: true, tokens: 10 }),
    });
    const done = consume(stream).catch(() => undefined);
    await clock.run();
    await done;
    const models = turn.finish().spans.filter(({ kind }) => kind === "model-call");
    expect(models).toHaveLength(1);
    return models[0]!;
  }

  it("ends its span when the consumer breaks out, with what there was so far", async () => {
    const model = await consumed(async (stream) => {
      for await (const chunk of stream) if (chunk === 2) break;
    });
    expect(model).toMatchObject({ startUs: 0, endUs: 200 * MS, status: "cancelled" });
    expect(model.unfinished).toBeUndefined();
    expect(model.attributes["gen_ai.usage.output_tokens"]).toBe(20);
    expect(model.events.map(({ name, atUs }) => [name, atUs / MS])).toEqual([
      ["output-start", 100],
      ["output-visible", 100],
      ["output-end", 200],
    ]);
  });

  it("ends it when the stream breaks", async () => {
    const model = await consumed(async (stream) => {
      for await (const _ of stream);
    });
    expect(model).toMatchObject({ endUs: 400 * MS, status: "error" });
    expect(model.attributes).toMatchObject({
      "error.type": "TypeError",
      "gen_ai.usage.output_tokens": 30,
    });
  });

  it("ends it when the consumer throws", async () => {
    const model = await consumed(async (stream) => {
      for await (const _ of stream) throw new Error("no more");
    });
    expect(model).toMatchObject({ endUs: 100 * MS, status: "cancelled" });
  });
});
