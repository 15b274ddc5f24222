/** RT-11: a prefetch that is wrong, doubled, stale, or not free. */
import { describe, expect, it } from "vitest";
import {
  type PrefetchContext,
  Prefetcher,
  type PrefetcherOptions,
  type PrefetchRule,
  Slots,
  type Tool,
  type ToolDefinition,
  type ToolResult,
  type Turn,
  type TurnOptions,
} from "../../src/runtime/index.ts";
import { TurnRecorder } from "../../src/trace/index.ts";
import {
  callDelta,
  FINISH,
  play,
  runtimeWorld,
  type World,
  wholeCall,
} from "../support/runtime-world.ts";
import { delta } from "../support/wire-text.ts";

const MS = 1_000;
const SEARCH: PrefetchRule = {
  tool: "search",
  when: ({ calls }) => calls.length === 0,
  args: { q: "a", n: 1 },
};
const READ: PrefetchRule = { tool: "read", args: { f: "f" } };

interface Play {
  readonly world: World;
  readonly prefetcher: Prefetcher;
  readonly turn: Turn;
  readonly runs: (name: string) => number;
}

/** The waste share is generous: what is tried here is not the budget. */
function begin(
  rule: PrefetchRule,
  more: Partial<ToolDefinition<unknown, unknown>> = {},
  options: {
    turn?: (world: World) => Partial<TurnOptions>;
    prefetch?: Partial<PrefetcherOptions>;
  } = {},
): Play {
  const world = runtimeWorld();
  const tools: readonly Tool[] = [
    world.timed("search", 300, { prefetch: true, ...more }),
    world.timed("read", 300, { prefetch: true }),
    world.timed("write", 100, { effect: "idempotent" }),
    world.timed("send_mail", 100, { effect: "irreversible" }),
  ];
  const prefetcher = new Prefetcher({
    tools,
    rules: [rule],
    budget: { wasteShare: 10, missUs: 0 },
    ...options.prefetch,
  });
  const turn = world.turn(tools, { prefetch: prefetcher, ...options.turn?.(world) });
  return { world, prefetcher, turn, runs: (name) => runsOf(world, name) };
}

function runsOf(world: World, name: string): number {
  return world.runs.filter((run) => run.name === name).length;
}

/** The purse is empty before the first call that the model asked for: one plain step fills it. */
async function fill({ world, turn }: Play): Promise<void> {
  const step = turn.step("openai-chat");
  step.chunk(wholeCall(0, "write", { f: "other" }));
  step.chunk(FINISH);
  step.end();
  const results = step.results();
  await world.clock.run();
  await results;
}

interface Message {
  readonly results: readonly ToolResult[];
  readonly endedMs: readonly number[];
}

/** One message whose frames come at these ms from now. */
async function say(
  { world, turn }: Play,
  frames: ReadonlyArray<readonly [atMs: number, frame: unknown]>,
): Promise<Message> {
  const startMs = world.nowMs();
  const step = turn.step("openai-chat");
  play(
    world,
    step,
    frames.map(([atMs, frame]) => [startMs + atMs, frame] as const),
  );
  const results = step.results();
  await world.clock.run();
  const all = await results;
  return { results: all, endedMs: all.map(({ times }) => times.endedUs / MS - startMs) };
}

const always = (rule: PrefetchRule): PrefetchRule => ({
  ...rule,
  when: ({ calls }: PrefetchContext) => calls.length > 0,
});

describe("RT-11: search is predicted at 0 ms and takes 300 ms", () => {
  const rule = always(SEARCH);

  it("(a) the same arguments at 200 ms: the result is there at 300 ms, after one run", async () => {
    const world = begin(rule);
    await fill(world);
    const { results, endedMs } = await say(world, [
      [200, wholeCall(0, "search", { q: "a", n: 1 })],
      [210, FINISH],
    ]);
    expect(results[0]).toMatchObject({ status: "ok", text: "search is done" });
    expect(endedMs).toEqual([300]);
    expect(world.runs("search")).toBe(1);
    expect(world.prefetcher.report).toMatchObject({ begun: 1, hits: 1, savedUs: 200 * MS });
  });

  it("(b) others: two runs in all, and the prediction is seen to be cancelled", async () => {
    let trace: TurnRecorder | undefined;
    const recorded = ({ clock }: World): Partial<TurnOptions> => {
      trace = new TurnRecorder({ clock, name: "t", bytes: (n) => new Uint8Array(n).fill(1) });
      return { trace };
    };
    const world = begin(rule, {}, { turn: recorded });
    await fill(world);
    const { results, endedMs } = await say(world, [
      [200, wholeCall(0, "search", { q: "b", n: 1 })],
      [210, FINISH],
    ]);
    expect(results.map(({ status }) => status)).toEqual(["ok"]);
    expect(endedMs).toEqual([500]);
    expect(world.runs("search")).toBe(2);
    expect(world.prefetcher.report).toMatchObject({
      hits: 0,
      thrownAway: { missed: 1 },
      wastedUs: 210 * MS,
      wastedCost: 1,
      calledOff: { obeyed: 1, abandoned: 0 },
    });
    const searches = trace!.finish().spans.filter(({ name }) => name === "search");
    expect(searches.map(({ status, detached }) => [status, detached === true])).toEqual([
      ["cancelled", true],
      ["ok", false],
    ]);
  });

  it.each([
    [false, 2],
    [true, 1],
  ])("(c) twice in one message, cacheable %s: %i runs", async (cacheable, runs) => {
    const world = begin(rule, { prefetch: { cacheable } });
    await fill(world);
    const { results } = await say(world, [
      [200, wholeCall(0, "search", { q: "a", n: 1 })],
      [205, wholeCall(1, "search", { q: "a", n: 1 })],
      [210, FINISH],
    ]);
    expect(results.map(({ id, text }) => [id, text])).toEqual([
      ["c0", "search is done"],
      ["c1", "search is done"],
    ]);
    expect(world.runs("search")).toBe(runs);
  });

  it.each([
    ["after it was announced", true],
    ["before", false],
  ])("(d) the stream fails %s, and the retry announces it: one run", async (_, announced) => {
    const world = begin(rule);
    await fill(world);
    const startMs = world.world.nowMs();
    await say(world, [
      [
        100,
        announced ? wholeCall(0, "search", { q: "a", n: 1 }) : delta({ content: "Let me see" }),
      ],
    ]);
    expect(world.world.nowMs() - startMs).toBe(300);
    const { results } = await say(world, [
      [50, wholeCall(0, "search", { q: "a", n: 1 })],
      [60, FINISH],
    ]);
    expect(results[0]!.text).toBe("search is done");
    expect(world.runs("search")).toBe(1);
  });

  it("(e) a mail is never predicted: not by a rule, not by what was learnt", async () => {
    expect(() => begin({ tool: "send_mail", args: {} })).toThrow(
      expect.objectContaining({ expected: "a tool that changes nothing" }),
    );
    const steps = [
      { thinkUs: 500 * MS, calls: [{ tool: "send_mail", args: { to: "x" }, tookUs: 100 * MS }] },
      { thinkUs: 500 * MS, calls: [] },
    ];
    const { model } = Prefetcher.learn(Array.from({ length: 50 }, () => ({ steps })));
    const world = begin(rule, {}, { prefetch: { rules: [], learned: model } });
    await say(world, [
      [800, delta({ content: "Done" })],
      [900, delta({}, "stop")],
    ]);
    expect(world.runs("send_mail")).toBe(0);
    expect(world.prefetcher.report.notBegun).toEqual({ "not-prefetchable": 1 });
  });

  it("(f) a read before a write is not the read after it", async () => {
    const world = begin(always(READ));
    await fill(world);
    const { endedMs } = await say(world, [
      [100, wholeCall(0, "write", { f: "f" })],
      [150, wholeCall(1, "read", { f: "f" })],
      [160, FINISH],
    ]);
    // Begun at 0 for nothing, and at 150 again.
    expect(world.runs("read")).toBe(2);
    expect(endedMs).toEqual([260, 450]);
    expect(world.prefetcher.report.thrownAway).toEqual({ changed: 1 });
    await say(world, [
      [100, wholeCall(0, "read", { f: "f" })],
      [110, FINISH],
    ]);
    // Begun after the write had ended.
    expect(world.prefetcher.report.hits).toBe(1);
  });

  it("(g) another order of the keys is the same call", async () => {
    const world = begin(rule);
    await fill(world);
    const { endedMs } = await say(world, [
      [100, callDelta(0, '{"n": 1, "q": "a"}', { id: "c0", name: "search" })],
      [210, FINISH],
    ]);
    expect(endedMs).toEqual([300]);
    expect(world.runs("search")).toBe(1);
  });

  it("(h) the user aborts: cancelled, and nothing is left", async () => {
    const controller = new AbortController();
    const world = begin(rule, {}, { turn: () => ({ signal: controller.signal }) });
    await fill(world);
    world.turn.step("openai-chat");
    const clock = world.world.clock;
    clock.at(clock.nowUs() + 100 * MS, () => controller.abort());
    await clock.run();
    expect(world.turn.running).toBe(0);
    expect(world.prefetcher.report).toMatchObject({
      thrownAway: { ended: 1 },
      calledOff: { obeyed: 1, abandoned: 0 },
    });
    await world.turn.close();
  });

  it("gives way to a call that was asked for when places are short", async () => {
    const slots = new Slots({ concurrency: 2, perResource: { search: 1 } });
    const world = begin(rule, {}, { turn: () => ({ limits: slots }) });
    await fill(world);
    const { endedMs } = await say(world, [
      [100, wholeCall(0, "search", { q: "other", n: 1 })],
      [110, FINISH],
    ]);
    expect(endedMs).toEqual([400]);
    expect(world.prefetcher.report.thrownAway).toEqual({ evicted: 1 });
    expect(slots.used).toBe(0);
  });

  it("starts nothing that is only read-only: it has to say so itself", () => {
    expect(() => begin(SEARCH, { prefetch: false })).toThrow(
      expect.objectContaining({ expected: "a tool that may be started on a guess" }),
    );
  });
});
