import { describe, expect, it } from "vitest";
import {
  CHAT_URL,
  call,
  chatBody,
  chatScript,
  type FetchScript,
  fetchWorld,
  refusal,
} from "../../../test/support/fetch-world.ts";
import { chatWire, delta, messagesWire } from "../../../test/support/wire-text.ts";
import { US_PER_S } from "../../core/index.ts";
import { Deadline } from "../deadline.ts";
import { Turn } from "../turn.ts";

const wire = (script: FetchScript): string =>
  (script.chunks ?? []).map(([, text]) => text).join("");
const hang = { atMs: 0, how: "hang" } as const;
const role = chatWire(delta({ role: "assistant", content: "" }));
const text = (content: string): string => chatWire(delta({ content }));

describe("one call", () => {
  it("gives the upstream's bytes unchanged, and its response once the model has said something", async () => {
    const script = chatScript(100, 200);
    const world = fetchWorld(() => script);
    const seen = call(world, world.manx());
    await world.clock.run();
    expect(seen).toMatchObject({
      text: wire(script),
      settledMs: 100,
      endedMs: 200,
      broke: undefined,
    });
    expect(seen.response?.headers.get("content-type")).toBe("text/event-stream");
    expect(world.hits[0]!.headers.get("authorization")).toBe("Bearer caller-key");
    expect(world.records).toMatchObject([
      { outcome: "ok", model: "m", ttftUs: 100_000, attempts: [{ end: "delivered", status: 200 }] },
    ]);
  });

  it("asks the upstream for no more than its caller reads, and blames no reader on it", async () => {
    const world = fetchWorld(() => chatScript(10, 20, 30));
    const policy = { timeouts: { lifeGap: "1s", progressGap: "1s" } } as const;
    const response = world.manx({ policy })(CHAT_URL, chatBody());
    await world.clock.run(60 * US_PER_S);
    const reader = (await response).body!.getReader();
    let read = "";
    const all = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        read += new TextDecoder().decode(value);
      }
    })();
    await world.clock.run(61 * US_PER_S);
    await all;
    expect(read).toBe(wire(chatScript(10, 20, 30)));
    expect(world.records[0]).toMatchObject({ outcome: "ok" });
  });

  it("cancels the upstream at once when its body is cancelled", async () => {
    const world = fetchWorld(() => chatScript(10, 5_000));
    const response = world.manx()(CHAT_URL, chatBody());
    world.at(300, () => void response.then(({ body }) => body!.cancel("enough")));
    await world.clock.run(400_000);
    expect(world.hits[0]!.cancelledMs).toBe(300);
    expect(world.records[0]).toMatchObject({
      outcome: "cancelled",
      attempts: [{ end: "abandoned" }],
    });
  });

  it("is cancelled by its signal before and after the first content, and never begun after it", async () => {
    for (const [abortMs, hits, settledMs] of [
      [0, 0, 0],
      [50, 1, 50],
      [150, 1, 100],
    ] as const) {
      const world = fetchWorld(() => chatScript(100, 5_000));
      const controller = new AbortController();
      const why = new Error("left");
      if (abortMs === 0) controller.abort(why);
      else world.at(abortMs, () => controller.abort(why));
      const seen = call(world, world.manx(), { ...chatBody(), signal: controller.signal });
      await world.clock.run();
      expect(world.hits).toHaveLength(hits);
      expect(seen.rejected ?? seen.broke).toBe(why);
      expect(seen.settledMs).toBe(settledMs);
      if (hits > 0) expect(world.hits[0]!.cancelledMs).toBe(abortMs);
    }
  });

  it("leaves an answer that its caller has read whole as a good one", async () => {
    const script = { ...chatScript(10, 20), end: hang };
    const world = fetchWorld(() => script);
    const made = world.manx();
    const response = made(CHAT_URL, chatBody());
    world.at(50, () => {
      void response.then(async ({ body }) => {
        const reader = body!.getReader();
        for (let read = 0; read < wire(script).length; ) {
          read += (await reader.read()).value!.length;
        }
        await reader.cancel();
      });
    });
    await world.clock.run(100_000);
    expect(world.records[0]).toMatchObject({ outcome: "ok", attempts: [{ end: "delivered" }] });
    expect(world.hits[0]!.cancelledMs).toBe(50);
    expect(made.stats().open).toBe(0);
  });
});

describe("before content", () => {
  it.each<[string, FetchScript, number]>([
    ["no connection", { rejects: "ECONNREFUSED" }, 2],
    ["a cut without a head", { rejects: "" }, 2],
    ["a cut after the role", { chunks: [[5, role]], end: { atMs: 50, how: "cut" } }, 2],
    ["an end after the role", { chunks: [[5, role]], end: { atMs: 50, how: "close" } }, 2],
    ["an empty stream", { chunks: [], end: { atMs: 5, how: "close" } }, 2],
    ["a 503", refusal(503), 2],
    ["a 500", refusal(500), 2],
    [
      "an error in a 200",
      { chunks: [[5, chatWire({ error: { message: "x", type: "overloaded_error" } })]] },
      2,
    ],
    ["a page of a proxy", { headers: { "content-type": "text/html" }, chunks: [[5, "<html>"]] }, 2],
    ["no HTTP", { rejects: "HPE_INVALID_CONSTANT" }, 2],
  ])("%s is tried again without a trace", async (_, first, hits) => {
    const world = fetchWorld((__, number) => (number === 0 ? first : chatScript(50)));
    const seen = call(world, world.manx());
    await world.clock.run();
    expect(seen.text).toBe(wire(chatScript(50)));
    expect(world.hits).toHaveLength(hits);
    expect(world.records[0]).toMatchObject({ outcome: "ok", attempts: [{}, { cause: "retry" }] });
  });

  it.each<[string, FetchScript, number, string]>([
    ["a 400", refusal(400), 400, "no"],
    ["a 401", refusal(401), 401, "no"],
    [
      "a silence before the head",
      { headMs: Number.POSITIVE_INFINITY },
      504,
      "MANX_UPSTREAM_TIMEOUT",
    ],
    ["a silence after the head", { chunks: [[5, role]], end: hang }, 504, "MANX_UPSTREAM_TIMEOUT"],
  ])("%s is not tried again at the same place", async (_, script, status, code) => {
    const world = fetchWorld(() => script);
    const policy = { timeouts: { firstContent: "10s" } };
    const seen = call(world, world.manx({ policy }));
    await world.clock.run();
    expect(world.hits).toHaveLength(1);
    expect(seen.response?.status).toBe(status);
    expect(seen.response?.headers.get("x-should-retry")).toBe("false");
    expect(JSON.parse(seen.text)).toMatchObject({ error: { code } });
  });

  it("says in the caller's own dialect what the last try has said, once it gives up", async () => {
    const said = { type: "error", error: { type: "overloaded_error", message: "busy" } };
    const world = fetchWorld(() => ({ chunks: [[5, messagesWire(said)]] }));
    const made = world.manx({ policy: { retry: { attempts: 2, backoff: "10ms" } } });
    const seen = call(world, made, chatBody(), "https://api.anthropic.com/v1/messages");
    await world.clock.run();
    expect(seen.response?.status).toBe(529);
    expect(JSON.parse(seen.text)).toEqual(said);
    expect(world.hits).toHaveLength(2);
  });

  it("leaves the caller's SDK its retries where none are made here", async () => {
    const world = fetchWorld(() => refusal(503));
    const seen = call(world, world.manx({ policy: { retry: { attempts: 1 } } }));
    await world.clock.run();
    expect(seen.response?.headers.get("x-should-retry")).toBeNull();
    expect(world.hits).toHaveLength(1);
  });

  it("repeats nothing that is stored, and hedges nothing either", async () => {
    for (const more of [
      { store: true },
      { background: true },
      { tools: [{ type: "web_search" }] },
    ]) {
      const world = fetchWorld(() => ({ chunks: [[5, role]], end: { atMs: 10, how: "cut" } }));
      call(world, world.manx(), chatBody(more));
      await world.clock.run();
      expect(world.hits).toHaveLength(1);
    }
  });
});

describe("after content", () => {
  const stalls = { chunks: [[5, role + text("Hel")]], end: hang } as const;

  it.each<[string, FetchScript, string]>([
    ["a cut", { ...stalls, end: { atMs: 50, how: "cut" } }, "MANX_STREAM_INCOMPLETE"],
    ["an early end", { ...stalls, end: { atMs: 50, how: "close" } }, "MANX_STREAM_INCOMPLETE"],
    ["a stall", stalls, "MANX_UPSTREAM_TIMEOUT"],
  ])(
    "%s ends in the error event of the format, then an error: never well, never again",
    async (_, script, code) => {
      const world = fetchWorld(() => script);
      const policy = { timeouts: { progressGap: "20s" } };
      const seen = call(world, world.manx({ policy }));
      await world.clock.run();
      expect(world.hits).toHaveLength(1);
      expect(seen.broke).toMatchObject({ code });
      const frames = seen.text.split("\n\n").filter((frame) => frame.trim() !== "");
      expect(frames).toHaveLength(3);
      expect(JSON.parse(frames[2]!.trim().slice("data: ".length))).toMatchObject({
        error: { code },
      });
      expect(world.records[0]).toMatchObject({ outcome: "failed", error: code });
      expect(world.hits[0]!.endedMs).toBeDefined();
    },
  );

  it("keeps back half a line, which is nothing once the stream is cut", async () => {
    const half = 'data: {"choices":[{"ind';
    const world = fetchWorld(() => ({
      chunks: [
        [5, role + text("Hel")],
        [10, half],
      ],
      end: { atMs: 20, how: "cut" },
    }));
    const seen = call(world, world.manx());
    await world.clock.run();
    expect(seen.text).not.toContain(half);
    expect(seen.broke).toMatchObject({ code: "MANX_STREAM_INCOMPLETE" });
  });
});

describe("the deadline of a turn", () => {
  it("ends what runs in the same instant, and begins nothing after it", async () => {
    for (const script of [{ headMs: Number.POSITIVE_INFINITY }, chatScript(100, 60_000)]) {
      const world = fetchWorld(() => script);
      const turn = new Turn({ tools: [], clock: world.clock, deadline: "3s" });
      const run = world.manx({ turn });
      const seen = call(world, run);
      await world.clock.run(4 * US_PER_S);
      const late = call(world, run);
      await world.clock.run(5 * US_PER_S);
      expect(world.hits).toHaveLength(1);
      expect(world.hits[0]!.cancelledMs).toBe(3_000);
      expect(seen.endedMs).toBe(3_000);
      expect(seen.broke ?? JSON.parse(seen.text).error).toMatchObject({ code: "MANX_DEADLINE" });
      expect(late.response?.status).toBe(504);
    }
  });

  it("lets no call begin that could not end", async () => {
    const world = fetchWorld(() => chatScript(1_000));
    let within: string | undefined;
    const deadline = (): Deadline | undefined =>
      within === undefined ? undefined : Deadline.within(world.clock, within);
    const run = world.manx({ deadline });
    for (let i = 0; i < 25; i += 1) call(world, run);
    await world.clock.run();
    within = "500ms";
    const seen = call(world, run);
    await world.clock.run();
    expect(world.hits).toHaveLength(25);
    expect(seen.response?.status).toBe(504);
    within = "2s";
    call(world, run);
    await world.clock.run();
    expect(world.hits).toHaveLength(26);
  });

  it("is called off with its turn", async () => {
    const world = fetchWorld(() => chatScript(10, 60_000));
    const turn = new Turn({ tools: [], clock: world.clock });
    const seen = call(world, world.manx({ turn: () => turn }));
    world.at(500, () => void turn.close());
    await world.clock.run();
    expect(world.hits[0]!.cancelledMs).toBe(500);
    expect(seen.broke).toMatchObject({ name: "AbortError" });
  });
});

describe("hedging", () => {
  const policy = { hedge: { share: 1, floor: "50ms" }, breaker: false } as const;

  /** Calls one after the other; @param slow what the call after 40 usual ones meets. */
  async function afterUsual(slow: (attempt: number) => FetchScript) {
    const world = fetchWorld((__, number) => (number < 40 ? chatScript(100) : slow(number - 40)));
    const run = world.manx({ policy });
    for (let i = 0; i < 40; i += 1) call(world, run);
    await world.clock.run();
    const beganMs = world.nowMs();
    const seen = call(world, run);
    await world.clock.run(beganMs * 1_000 + 60 * US_PER_S);
    return { world, run, seen, beganMs, record: world.records.at(-1)! };
  }

  it("begins a second attempt beside a silent one; the first content wins, the other is cancelled", async () => {
    const { world, run, seen, beganMs, record } = await afterUsual((attempt) =>
      attempt === 0 ? { chunks: [[5, role]], end: hang } : chatScript(100),
    );
    expect(world.hits).toHaveLength(42);
    expect(record.attempts.map(({ cause, end }) => [cause, end])).toEqual([
      ["first", "lost"],
      ["hedge", "delivered"],
    ]);
    expect(seen.text).toBe(wire(chatScript(100)));
    expect(seen.settledMs! - beganMs).toBeLessThan(230);
    expect(world.hits[40]!.cancelledMs).toBe(seen.settledMs);
    expect(run.stats()).toMatchObject({ hedges: { begun: 1, won: 1, lost: 0 }, open: 0 });
    expect(run.stats().tokens.wasted).toBe(record.inputTokens);
  });

  it("tells of a loser that has not let go", async () => {
    const { run } = await afterUsual((attempt) =>
      attempt === 0 ? { headMs: Number.POSITIVE_INFINITY, ignoresSignal: true } : chatScript(100),
    );
    expect(run.stats().open).toBe(1);
  });

  it("is no second attempt where all are slow", async () => {
    const world = fetchWorld((__, number) => chatScript(number < 40 ? 100 : 2_000));
    const run = world.manx({ policy: { hedge: true, breaker: false } });
    for (let i = 0; i < 40; i += 1) call(world, run);
    await world.clock.run();
    for (let i = 0; i < 40; i += 1) call(world, run);
    await world.clock.run();
    expect(world.hits.length - 80).toBeLessThanOrEqual(3);
    expect(run.stats().hedges.refused.saturated).toBeGreaterThan(30);
  });
});
