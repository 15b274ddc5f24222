/** The middleware and the tools in the AI SDK 6 itself, with its official provider for OpenAI's wire, against loopback. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, wrapLanguageModel } from "ai";
import { describe, expect, it } from "vitest";
import { agentTools, closeProviders, provider } from "../../../test/support/agent-tools.ts";
import { until } from "../../../test/support/live-twin.ts";
import { realClock } from "../../clock/index.ts";
import { Turn } from "../../runtime/index.ts";
import type { ScriptedProvider } from "../../testing/index.ts";
import { TurnRecorder } from "../../trace/index.ts";
import { currentTurn, withTurn } from "../node/index.ts";
import { manxMiddleware, manxTools } from "./index.ts";
import { PartFeeder } from "./part-feeder.ts";

closeProviders();

function modelOf({ url }: ScriptedProvider, turn: Turn | (() => Turn | undefined)) {
  const model = createOpenAICompatible({ name: "scripted", baseURL: `${url}/v1` })("m");
  return wrapLanguageModel({ model, middleware: manxMiddleware(turn) });
}

const search = { name: "search", args: { q: "cats" } };
const common = { prompt: "go", stopWhen: stepCountIs(5), maxRetries: 0 };

describe("streamText", () => {
  it("has tools run from the last brace on, and gets their results", async () => {
    const { tools, runs, started } = agentTools();
    const calls = [search, { name: "fail", args: { q: "x" } }];
    const server = await provider({ calls, before: () => started }, { text: "Cats." });
    const turn = new Turn({ tools, deadline: "20s" });
    const model = modelOf(server, turn);
    const result = streamText({ ...common, model, tools: await manxTools(turn) });
    expect(await result.text).toBe("Cats.");
    const [first] = await result.steps;
    expect(first!.toolResults.map(({ output }) => output)).toEqual([{ found: "cats" }]);
    expect(first!.content.find(({ type }) => type === "tool-error")).toMatchObject({
      toolName: "fail",
      error: new Error("error: out of order"),
    });
    // Once each: what had begun was taken over.
    expect(runs).toEqual(["search", "fail"]);
    expect(turn.counts.early).toBe(2);
    expect(Number(server.asked[1]!.headers["x-manx-deadline-ms"])).toBeGreaterThan(0);
    const { messages, tools: declared } = server.asked[1]!.body;
    expect(messages.slice(2)).toMatchObject([
      { role: "tool", content: '{"found":"cats"}' },
      { role: "tool", content: "error: out of order" },
    ]);
    expect(declared.map((one: { function: { name: string } }) => one.function.name)).toEqual([
      "fail",
      "hang",
      "pay",
      "search",
    ]);
    expect(declared[3].function.parameters.required).toEqual(["q"]);
  });

  it("never runs an irreversible tool of a message that was cut", async () => {
    const { tools, runs } = agentTools();
    const calls = [{ name: "pay", args: { q: "a" } }];
    const server = await provider({ calls, finish: "length" }, { text: "ok" });
    const turn = new Turn({ tools });
    const result = streamText({
      ...common,
      model: modelOf(server, turn),
      tools: await manxTools(turn),
    });
    await result.consumeStream();
    expect(runs).toEqual([]);
  });

  it("takes back what began if the stream dies in an argument", async () => {
    const { tools, runs } = agentTools();
    const calls = [
      { name: "hang", args: { q: "a" } },
      { name: "search", args: '{"q":"ca' },
    ];
    const server = await provider({ calls, cut: true });
    const turn = new Turn({ tools });
    const result = streamText({
      ...common,
      model: modelOf(server, turn),
      tools: await manxTools(turn),
      onError: () => {},
    });
    await expect(Promise.resolve(result.text)).rejects.toThrow();
    await turn.close();
    expect(runs).toEqual(["hang"]);
    expect(turn.running).toBe(0);
  });

  it("lets go of the tools when it is aborted", async () => {
    const { tools, started } = agentTools();
    const gone = new AbortController();
    const calls = [{ name: "hang", args: { q: "a" } }];
    const server = await provider({ calls });
    // It does not know the signal; the call of the model does.
    const turn = new Turn({ tools });
    const result = streamText({
      ...common,
      model: modelOf(server, turn),
      tools: await manxTools(turn),
      abortSignal: gone.signal,
    });
    const done = result.consumeStream();
    await started;
    gone.abort();
    await done;
    await until(() => turn.running === 0, "the tool to be called off");
    expect(turn.counts).toMatchObject({ started: 1, obeyed: 1 });
  });

  it("finds the turn where it is asked to, for a model that many turns share", async () => {
    const { tools } = agentTools();
    const server = await provider({ calls: [search] }, { text: "Cats." });
    const model = modelOf(server, currentTurn);
    const turn = new Turn({ tools });
    const text = await withTurn(turn, async () => {
      return await streamText({ ...common, model, tools: await manxTools(turn) }).text;
    });
    expect(text).toBe("Cats.");
    expect(turn.counts).toMatchObject({ early: 1, started: 1 });
    expect(await streamText({ ...common, model }).text).toBe("Cats.");
  });
});

describe("a turn whose time is over", () => {
  it("asks no model", async () => {
    const server = await provider({ text: "Cats." });
    const turn = new Turn({ tools: [] });
    await turn.close();
    const asking = generateText({ ...common, model: modelOf(server, turn) });
    await expect(asking).rejects.toMatchObject({ code: "MANX_DEADLINE" });
    expect(server.asked).toEqual([]);
  });
});

describe("generateText", () => {
  it("runs the tools of the turn", async () => {
    const { tools, runs } = agentTools();
    const server = await provider({ calls: [search] }, { text: "Cats." });
    const turn = new Turn({ tools });
    const { text } = await generateText({
      ...common,
      model: modelOf(server, turn),
      tools: await manxTools(turn),
    });
    expect(text).toBe("Cats.");
    expect(runs).toEqual(["search"]);
  });

  it("does so without the middleware, too, and records no call of a model that it has not seen", async () => {
    const { tools, runs } = agentTools();
    const server = await provider({ calls: [search] }, { text: "Cats." });
    const trace = new TurnRecorder({ clock: realClock, name: "agent" });
    const turn = new Turn({ tools, trace });
    const model = createOpenAICompatible({ name: "scripted", baseURL: `${server.url}/v1` })("m");
    const { text } = await generateText({ ...common, model, tools: await manxTools(turn) });
    expect(text).toBe("Cats.");
    await turn.close();
    const kinds = trace.finish().spans.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["step", "tool-call", "turn"]);
    expect(runs).toEqual(["search"]);
  });
});

describe("the parts of a model stream", () => {
  it("that cannot be shown to the turn end in an error, and their source is left", async () => {
    let left: unknown;
    const big = { type: "tool-call", toolCallId: "c", toolName: "search", input: { q: 1n } };
    const stream = new ReadableStream({
      pull: (controller) => controller.enqueue(big),
      cancel: (reason) => {
        left = reason;
      },
    });
    const turn = new Turn({ tools: [] });
    const { wrapStream } = manxMiddleware(turn);
    const shown = await wrapStream({
      doStream: async () => ({ stream }),
      params: {},
      model: { modelId: "m" },
    });
    await expect(shown.stream.getReader().read()).rejects.toThrow(TypeError);
    expect(left).toBeInstanceOf(TypeError);
    await turn.close();
  });

  it("that the provider runs itself are left alone", () => {
    const { tools, runs } = agentTools();
    const feeder = new PartFeeder(new Turn({ tools }), "m");
    feeder.take({ type: "tool-input-start", id: "s", toolName: "search", providerExecuted: true });
    feeder.take({ type: "tool-input-delta", id: "s", delta: '{"q":"a"}' });
    feeder.take({ type: "tool-call", toolCallId: "s", toolName: "search", input: '{"q":"a"}' });
    const own = { toolCallId: "t", toolName: "search", input: '{"q":"a"}', providerExecuted: true };
    feeder.take({ type: "tool-call", ...own });
    expect(runs).toEqual([]);
  });

  it("are shown only so far as a message may have calls, and what comes behind runs all the same", async () => {
    const { tools, runs } = agentTools();
    const turn = new Turn({ tools });
    const feeder = new PartFeeder(turn, "m");
    const startMs = performance.now();
    for (let i = 0; i < 40_000; i += 1) {
      const id = `c${i}`;
      feeder.take({ type: "tool-input-start", id, toolName: "search" });
      feeder.take({ type: "tool-input-delta", id, delta: '{"q":"a"}' });
      feeder.take({ type: "tool-call", toolCallId: id, toolName: "search", input: '{"q":"a"}' });
      feeder.take({
        type: "tool-input-start",
        id: `p${i}`,
        toolName: "web",
        providerExecuted: true,
      });
    }
    feeder.take({ type: "finish", finishReason: { unified: "tool-calls", raw: "x" } });
    // Six seconds, while each fragment was looked for among all calls.
    expect(performance.now() - startMs).toBeLessThan(2_500);
    const { search: one } = await manxTools(turn);
    await feeder.settled();
    expect(runs).toHaveLength(256);
    for (const toolCallId of ["c7", "c300"]) {
      expect(await one!.execute({ q: "a" }, { toolCallId })).toEqual({ found: "a" });
    }
    expect(runs).toHaveLength(257);
    await turn.close();
  });

  it("with a repaired call run what was repaired, not what was said", async () => {
    const { tools, runs } = agentTools();
    const turn = new Turn({ tools });
    const feeder = new PartFeeder(turn, "m");
    feeder.take({ type: "tool-call", toolCallId: "c", toolName: "search", input: '{"q":7}' });
    feeder.take({ type: "finish", finishReason: { unified: "tool-calls", raw: "x" } });
    const { search: one } = await manxTools(turn);
    const options = { toolCallId: "c" };
    await expect(one!.execute({ q: 7 }, options)).rejects.toThrow(/do not fit/);
    expect(await one!.execute({ q: "seven" }, options)).toEqual({ found: "seven" });
    expect(runs).toEqual(["search"]);
    const aborted = { ...options, abortSignal: AbortSignal.abort(new Error("gone")) };
    await expect(one!.execute({ q: "seven" }, aborted)).rejects.toThrow("gone");
  });
});
