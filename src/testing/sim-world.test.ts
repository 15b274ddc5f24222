import { getEventListeners } from "node:events";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { modelFetch } from "../runtime/index.ts";
import { turnRecord } from "../trace/index.ts";
import { ScriptedModel, type ScriptedReply, SimWorld } from "./index.ts";

const MS = 1_000;
const ASK = {
  model: "scripted",
  stream: true as const,
  messages: [{ role: "user" as const, content: "go" }],
};

function openai(model: ScriptedModel): OpenAI {
  return new OpenAI({
    apiKey: "none",
    baseURL: "http://model.test/v1",
    fetch: model.fetch,
    maxRetries: 0,
  });
}

describe("a simulated world", () => {
  it("runs an agent over the official client in no time, each thing at its instant", async () => {
    const world = new SimWorld();
    const model = world.model([
      { calls: [{ name: "search", args: { q: "cats" } }], ttft: "500ms", gap: "20ms", tail: "2s" },
      { text: "Cats have tails.", ttft: "300ms", gap: "10ms" },
    ]);
    const search = world.tool({ name: "search", effect: "pure", takes: "800ms" });
    const trace = world.recorder("agent");
    const texts = await world.run(async () => {
      const turn = world.turn({ tools: [search], trace });
      const said: string[] = [];
      for (let asked = true; asked; ) {
        const step = turn.step("openai-chat", { model: "scripted" });
        const stream = await openai(model).chat.completions.create(ASK);
        for await (const chunk of stream) {
          said.push(chunk.choices[0]?.delta.content ?? "");
          step.chunk(chunk);
        }
        step.end();
        asked = (await step.results()).length > 0;
      }
      await turn.close();
      return said;
    });
    expect(texts.join("")).toBe("Cats have tails.");
    const { spans, wallUs, phases } = turnRecord(trace.finish());
    const [tool] = spans.filter(({ kind }) => kind === "tool-call");
    // `{"q":"cats"}` is the name and three pieces of arguments: whole 60 ms after the first output.
    expect([tool!.startUs, tool!.endUs]).toEqual([560 * MS, 1_360 * MS]);
    expect(wallUs).toBe((560 + 2_000 + 300 + 20) * MS);
    expect(phases).toMatchObject({ prefill: 800 * MS, tools: 0 });
    expect(model.asked.map(({ atUs }) => atUs)).toEqual([0, 2_560 * MS]);
  });

  it("speaks Anthropic's messages, whole or streamed, with stalls and breaks", async () => {
    const world = new SimWorld();
    const model = world.model([
      { text: "one two", ttft: "100ms" },
      { text: "one two three", gap: "10ms", stall: { before: 2, for: "5s" } },
      { text: "one two", cut: true },
      { hangs: true },
    ]);
    const client = new Anthropic({ apiKey: "none", fetch: model.fetch, maxRetries: 0 });
    const ask = { model: "m", max_tokens: 9, messages: ASK.messages };
    const { clock } = world;
    await world.run(async () => {
      const whole = await client.messages.create(ask);
      expect(whole.content).toMatchObject([{ type: "text", text: "one two" }]);
      expect(clock.nowUs()).toBe(100 * MS);
      const times: number[] = [];
      for await (const event of await client.messages.create({ ...ask, stream: true })) {
        if (event.type === "content_block_delta") times.push(clock.nowUs() / MS - 100);
      }
      expect(times).toEqual([0, 10, 5_020]);
      const broken = await client.messages.create({ ...ask, stream: true });
      await expect(async () => {
        for await (const _ of broken);
      }).rejects.toThrow();
      const left = new AbortController();
      clock.at(clock.nowUs() + 7 * MS, () => left.abort(new Error("gone")));
      await expect(
        client.messages.create({ ...ask, stream: true }, { signal: left.signal }),
      ).rejects.toThrow();
    });
    const { atUs, cancelledUs } = model.asked[3]!;
    expect(cancelledUs! - atUs).toBe(7 * MS);
  });

  it("lets a fetch of Manx's own hedge a slow model", async () => {
    const world = new SimWorld();
    let slow = 0;
    const model = world.model((_, number) => {
      const isSlow = number > 60 && slow === 0;
      slow += isSlow ? 1 : 0;
      return { text: "Hello there", ttft: isSlow ? "30s" : `${190 + (number % 20)}ms` };
    });
    const fetch = modelFetch({
      fetch: model.fetch as never,
      clock: world.clock,
      policy: { hedge: true },
    });
    const body = JSON.stringify(ASK);
    const lasted = await world.run(async () => {
      let worstUs = 0;
      for (let i = 0; i < 61; i += 1) {
        const startUs = world.clock.nowUs();
        const response = await fetch("http://model.test/v1/chat/completions", {
          method: "POST",
          body,
        });
        await response.text();
        worstUs = Math.max(worstUs, world.clock.nowUs() - startUs);
      }
      return worstUs;
    });
    expect(lasted).toBeLessThan(1_000 * MS);
    expect(fetch.stats().hedges.won).toBe(1);
  });

  it("comes out the same for the same seed, ids included", async () => {
    const play = async (seed: number): Promise<string> => {
      const world = new SimWorld({ seed });
      const tool = world.tool({
        name: "moody",
        effect: "pure",
        takes: () => world.random.exponential(500 * MS),
      });
      const trace = world.recorder();
      await world.run(() =>
        world.turn({ tools: [tool], trace }).plan([{ tool: "moody", args: {} }]),
      );
      return JSON.stringify(trace.finish().spans);
    };
    expect(await play(3)).toBe(await play(3));
    expect(await play(3)).not.toBe(await play(4));
  });

  it("fails a call whose reply cannot be played, in place of an answer that never ends", async () => {
    const world = new SimWorld();
    const ask = (reply: ScriptedReply) => {
      const { fetch } = world.model([reply]);
      const init = { method: "POST", body: '{"stream":true}' };
      return world.run(async () => (await fetch("http://m/v1/messages", init)).text());
    };
    await expect(ask({ text: "a b", gap: "5 parsecs" })).rejects.toMatchObject({
      code: "MANX_DURATION",
    });
    const before = () => Promise.reject(new Error("it did not begin"));
    await expect(ask({ text: "a b", before })).rejects.toThrow("it did not begin");
  });

  it("ends a stream for a caller that had left before it began, and follows no signal after its end", async () => {
    const world = new SimWorld();
    const model = world.model([{ text: "a b", gap: "1s" }]);
    const gone = new AbortController();
    const ask = async (signal: AbortSignal) => {
      const init = { method: "POST", body: '{"stream":true}', signal };
      return (await model.fetch("http://m/v1/messages", init)).text();
    };
    const { signal } = new AbortController();
    await world.run(() => ask(signal));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const asked = ask(gone.signal);
    gone.abort(new Error("left"));
    await expect(world.run(() => asked)).rejects.toThrow("left");
  });

  it("says when it is stuck, and passes on what the work throws", async () => {
    const world = new SimWorld();
    await expect(
      world.run(async () => {
        await world.sleep("3s");
        await new Promise(() => {});
      }),
    ).rejects.toMatchObject({ code: "MANX_SIM_STUCK", where: "3.00 s after its start" });
    await expect(world.run(() => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(() => new ScriptedModel([], world.clock)).toThrow(/one reply or more/);
    const model = world.model([{ text: "a", ttft: "soon" }]);
    await expect(
      world.run(() => openai(model).chat.completions.create({ ...ASK, stream: false })),
    ).rejects.toMatchObject({ cause: { code: "MANX_DURATION" } });
  });
});
