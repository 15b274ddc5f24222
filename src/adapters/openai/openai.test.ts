/** The loop over the official client of `openai`, against a provider on loopback that says what it is told. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { agentTools, closeProviders, provider } from "../../../test/support/agent-tools.ts";
import { realClock } from "../../clock/index.ts";
import { modelFetch, Turn } from "../../runtime/index.ts";
import { type ScriptedProvider, SimWorld } from "../../testing/index.ts";
import { TurnRecorder } from "../../trace/index.ts";
import { feed, runChat, runResponses } from "./index.ts";

closeProviders();

function clientOf({ url }: ScriptedProvider): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

const messages = [{ role: "user" as const, content: "go" }];
const params = { model: "m", messages };
const search = { name: "search", args: { q: "cats" } };

describe("runChat", () => {
  it("runs tools and answers, with the text as it comes and the usage summed", async () => {
    const { tools } = agentTools();
    const server = await provider(
      { text: "Let me see. ", calls: [search, { name: "fail", args: { q: "x" } }] },
      { text: "Cats have tails." },
    );
    const turn = new Turn({ tools, deadline: "20s" });
    const run = runChat(clientOf(server), params, { turn });
    let seen = "";
    for await (const text of run) seen += text;
    const result = await run.result();
    await turn.close();
    expect(seen).toBe("Let me see. Cats have tails.");
    expect(result).toMatchObject({ text: "Cats have tails.", ended: "answered", steps: 2 });
    expect(result.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(result.results.map(({ status }) => status)).toEqual(["ok", "failed"]);
    const [first, second] = server.asked;
    expect(first!.body.tools.map((one: { function: object }) => one.function)).toMatchObject([
      { name: "fail" },
      { name: "hang" },
      { name: "pay" },
      { name: "search", description: "Looks things up.", parameters: { required: ["q"] } },
    ]);
    expect(Number(first!.headers["x-manx-deadline-ms"])).toBeGreaterThan(0);
    expect(second!.body.messages).toEqual([
      ...messages,
      {
        role: "assistant",
        content: "Let me see. ",
        tool_calls: [
          call("call_1_0", "search", '{"q":"cats"}'),
          call("call_1_1", "fail", '{"q":"x"}'),
        ],
      },
      { role: "tool", tool_call_id: "call_1_0", content: '{"found":"cats"}' },
      { role: "tool", tool_call_id: "call_1_1", content: "error: out of order" },
    ]);
    // What is appended is what the last request had, and the answer.
    expect(result.messages).toEqual([
      ...second!.body.messages.slice(1),
      { role: "assistant", content: "Cats have tails." },
    ]);
  });

  it("takes further fields of the body where it is called", async () => {
    const server = await provider({ text: "hi" });
    const turn = new Turn({ tools: [] });
    const body = { model: "m", messages, temperature: 0, max_tokens: 64 };
    // Written in place, since TypeScript refuses unknown fields there alone.
    await runChat(clientOf(server), { ...body, seed: 7 }, { turn }).result();
    await runResponses(
      clientOf(server),
      { model: "m", input: "go", max_output_tokens: 64 },
      { turn },
    ).result();
    expect(server.asked.map((one) => one.body)).toMatchObject([
      { temperature: 0, max_tokens: 64, seed: 7 },
      { max_output_tokens: 64 },
    ]);
  });

  it("runs in a simulated world, with its tools as they come", async () => {
    const world = new SimWorld();
    const lookUp = world.tool({ name: "search", effect: "pure", takes: "800ms" });
    const model = world.model([{ calls: [search], ttft: "1s", tail: "2s" }, { text: "done" }]);
    const trace = world.recorder();
    const result = await world.run(async () => {
      const turn = world.turn({ tools: [lookUp], trace });
      const client = new OpenAI({ apiKey: "none", fetch: model.fetch, maxRetries: 0 });
      const ended = await runChat(client, params, { turn }).result();
      await turn.close();
      return ended;
    });
    expect(result).toMatchObject({ ended: "answered", text: "done" });
    const [declared] = model.asked[0]!.body.tools;
    expect(declared.function).toEqual({ name: "search", parameters: { type: "object" } });
    const [run] = trace.finish().spans.filter(({ kind }) => kind === "tool-call");
    expect(run!.endUs - run!.startUs).toBe(800_000);
  });

  it("starts a tool before the message is over", async () => {
    const { tools, started } = agentTools();
    // The message ends only once the tool runs: without an early start this never ends.
    const server = await provider({ calls: [search], before: () => started }, { text: "done" });
    const turn = new Turn({ tools });
    const { results } = await runChat(clientOf(server), params, { turn }).result();
    expect(results[0]!.times.headStartUs).toBeGreaterThan(0);
    expect(turn.counts.early).toBe(1);
  });

  it("answers an unknown tool, a bad argument and an id that comes twice, and goes on", async () => {
    const { tools, runs } = agentTools();
    const calls = [
      { name: "serch", args: { q: "a" } },
      { name: "search", args: { q: 7 } },
      { name: "search", args: { q: "b" }, id: "same" },
      { name: "pay", args: "not json" },
    ];
    const server = await provider({ calls }, { text: "sorry" });
    const result = await runChat(clientOf(server), params, { turn: new Turn({ tools }) }).result();
    expect(result.results.map(({ status }) => status)).toEqual([
      "unknown",
      "invalid",
      "ok",
      "invalid",
    ]);
    expect(runs).toEqual(["search"]);
    const { messages: said } = server.asked[1]!.body;
    expect(said[1].tool_calls.map((one: { function: object }) => one.function)).toEqual([
      { name: "serch", arguments: '{"q":"a"}' },
      { name: "search", arguments: '{"q":7}' },
      { name: "search", arguments: '{"q":"b"}' },
      { name: "pay", arguments: "{}" },
    ]);
    expect(said.slice(2).map((one: { tool_call_id: string }) => one.tool_call_id)).toEqual(
      said[1].tool_calls.map(({ id }: { id: string }) => id),
    );
  });

  it("rejects, and runs nothing late, if the stream dies in an argument", async () => {
    const { tools, runs } = agentTools();
    const calls = [
      { name: "pay", args: { q: "a" } },
      { name: "search", args: '{"q":"ca' },
    ];
    const server = await provider({ calls, cut: true });
    const run = runChat(clientOf(server), params, { turn: new Turn({ tools }) });
    await expect(run.result()).rejects.toThrow();
    await expect(readAll(run)).rejects.toThrow();
    expect(runs).toEqual([]);
  });

  it("rejects with the signal's reason if it is called off in the middle", async () => {
    const { tools, started } = agentTools();
    const gone = new AbortController();
    const server = await provider({ calls: [{ name: "hang", args: { q: "a" } }] });
    const turn = new Turn({ tools, signal: gone.signal });
    const run = runChat(clientOf(server), params, { turn });
    await started;
    gone.abort(new Error("the user has left"));
    await expect(run.result()).rejects.toThrow("the user has left");
    await turn.close();
    expect(turn.running).toBe(0);
  });

  it("says why it was called off while it waits for an answer, not what the SDK calls that", async () => {
    const gone = new AbortController();
    const client = new OpenAI({
      apiKey: "none",
      maxRetries: 0,
      fetch: (_url, init) => {
        setImmediate(() => gone.abort(new Error("the user has left")));
        return new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () =>
            reject(new DOMException("x", "AbortError")),
          );
        });
      },
    });
    const turn = new Turn({ tools: [], signal: gone.signal });
    await expect(runChat(client, params, { turn }).result()).rejects.toThrow("the user has left");
  });

  it("rejects with MANX_DEADLINE when the turn's time is over, and asks no more", async () => {
    const { tools } = agentTools();
    const server = await provider({ calls: [{ name: "hang", args: { q: "a" } }] });
    const turn = new Turn({ tools, deadline: "300ms" });
    await expect(runChat(clientOf(server), params, { turn }).result()).rejects.toMatchObject({
      code: "MANX_DEADLINE",
    });
    expect(server.asked).toHaveLength(1);
  });

  it("ends at the step limit with a conversation that can go on", async () => {
    const { tools } = agentTools();
    const server = await provider({ calls: [search] });
    const turn = new Turn({ tools });
    const result = await runChat(clientOf(server), params, { turn, stepsMax: 3 }).result();
    expect(result).toMatchObject({ ended: "steps", steps: 3, text: "" });
    expect(result.messages).toHaveLength(6);
    expect(result.messages.at(-1)).toMatchObject({ role: "tool" });
    expect(() => runChat(clientOf(server), params, { turn, stepsMax: 0 })).toThrow(/may not take/);
  });

  it("says that an answer was cut at its length, and runs none of its calls", async () => {
    const { tools, runs } = agentTools();
    const calls = [{ name: "pay", args: { q: "a" } }];
    const server = await provider({ text: "I will", calls, finish: "length" });
    const result = await runChat(clientOf(server), params, { turn: new Turn({ tools }) }).result();
    expect(result).toMatchObject({ ended: "truncated", text: "I will", results: [] });
    expect(result.messages).toEqual([{ role: "assistant", content: "I will" }]);
    expect(runs).toEqual([]);
  });

  it("passes on what the client throws", async () => {
    const server = await provider({ status: 429 });
    const run = runChat(clientOf(server), params, { turn: new Turn({ tools: [] }) });
    await expect(run.result()).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it("works with a client that does not stream, and with no tools at all", async () => {
    const { tools } = agentTools();
    const server = await provider({ calls: [search] }, { text: "whole" });
    const client = clientOf(server);
    const whole = {
      chat: {
        completions: {
          create: (body: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
            client.chat.completions.create({ ...body, stream: false }),
        },
      },
    };
    const result = await runChat(whole, params, { turn: new Turn({ tools }) }).result();
    expect(result).toMatchObject({ text: "whole", steps: 2 });
    const none = await runChat(client, params, { turn: new Turn({ tools: [] }) }).result();
    expect(none.text).toBe("whole");
    expect(server.asked[2]!.body).not.toHaveProperty("tools");
  });

  it("records each model call once, with its attempts, where the turn's own fetch sends it", async () => {
    const { tools } = agentTools();
    const server = await provider({ calls: [search] }, { text: "Cats." });
    const trace = new TurnRecorder({ clock: realClock, name: "agent" });
    const turn = new Turn({ tools, trace });
    const client = new OpenAI({
      baseURL: `${server.url}/v1`,
      apiKey: "none",
      fetch: modelFetch({ turn }),
    });
    await runChat(client, params, { turn }).result();
    await turn.close();
    const { spans } = trace.finish();
    const kinds = spans.map(({ kind }) => kind);
    for (const kind of ["step", "model-call", "attempt"] as const) {
      expect(
        kinds.filter((one) => one === kind),
        kind,
      ).toHaveLength(2);
    }
    expect(kinds.filter((one) => one === "tool-call")).toHaveLength(1);
    expect(server.asked[0]!.headers.traceparent).toMatch(/^00-/);
  });

  it.each([
    ["stop", 2, 1],
    ["function_calls", 2, 1],
    ["tool_calls", 1, 0],
  ])(
    "goes on or ends as the calls say, not the finish reason alone: %s (casebook RT-06)",
    async (reason, steps, ran) => {
      const { tools, runs } = agentTools();
      const whole = { id: "", function: { name: "search", arguments: { q: "Oslo" } } };
      const chunk = (delta: object, finish_reason: string | null = null): object => ({
        choices: [{ index: 0, delta, finish_reason }],
      });
      const said = [
        [chunk(ran === 1 ? { tool_calls: [whole] } : { content: "text" }), chunk({}, reason)],
        [chunk({ content: "done" }, "stop")],
      ];
      const bodies: { messages: { role: string; tool_call_id?: string }[] }[] = [];
      const create = async (body: never): Promise<AsyncIterable<object>> => {
        bodies.push(body);
        return (async function* () {
          yield* said.shift()!;
        })();
      };
      const client = { chat: { completions: { create } } };
      const result = await runChat(client, params, { turn: new Turn({ tools }) }).result();
      expect([result.ended, result.steps, runs.length]).toEqual(["answered", steps, ran]);
      if (ran === 0) return;
      const [, message, answer] = bodies[1]!.messages as unknown as [
        object,
        { tool_calls: { id: string }[] },
        { tool_call_id: string; content: string },
      ];
      expect(answer.tool_call_id).toBe(message.tool_calls[0]!.id);
      expect(answer.content).toBe('{"found":"Oslo"}');
    },
  );

  it("leaves retries to a fetch of Manx's own", async () => {
    const asked: unknown[] = [];
    const client = (fetch: unknown): object => ({
      fetch,
      chat: { completions: { create: async (_: unknown, call: unknown) => asked.push(call) } },
    });
    const manx = modelFetch();
    for (const [fetch, more] of [[manx], [() => {}], [manx, { maxRetries: 1 }]] as const) {
      const turn = new Turn({ tools: [] });
      const run = runChat(client(fetch) as never, params, { turn, ...more });
      await expect(run.result()).rejects.toMatchObject({ code: "MANX_STREAM_INCOMPLETE" });
    }
    expect(asked.map((one) => (one as { maxRetries?: number }).maxRetries)).toEqual([
      0,
      undefined,
      1,
    ]);
  });
});

describe("feed", () => {
  it("is the piece alone, for a loop of one's own", async () => {
    const { tools, started } = agentTools();
    const server = await provider({ calls: [search], before: () => started });
    const step = new Turn({ tools }).step("openai-chat");
    await feed(step, await clientOf(server).chat.completions.create({ ...params, stream: true }));
    expect([...step.assistantMessage(), ...(await step.messages())]).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [call("call_1_0", "search", '{"q":"cats"}')],
      },
      { role: "tool", tool_call_id: "call_1_0", content: '{"found":"cats"}' },
    ]);
  });
});

describe("runResponses", () => {
  it("sends reasoning back encrypted, with the calls that it led to", async () => {
    const { tools, started } = agentTools();
    const thinking = { text: "hm", signature: "SEALED" };
    const server = await provider(
      { thinking, calls: [search], before: () => started },
      { text: "Cats." },
    );
    const turn = new Turn({ tools });
    const body = { model: "m", input: "go", store: false };
    const result = await runResponses(clientOf(server), body, { turn }).result();
    expect(result).toMatchObject({ text: "Cats.", ended: "answered", steps: 2 });
    expect(result.usage.inputTokens).toBe(20);
    const [first, second] = server.asked.map((one) => one.body);
    expect(first.include).toEqual(["reasoning.encrypted_content"]);
    expect(first.tools[3]).toMatchObject({ type: "function", name: "search", strict: false });
    expect(second.input).toMatchObject([
      { role: "user", content: "go" },
      { type: "reasoning", encrypted_content: "SEALED" },
      { type: "function_call", call_id: "call_1_0", name: "search", arguments: '{"q":"cats"}' },
      { type: "function_call_output", call_id: "call_1_0", output: '{"found":"cats"}' },
    ]);
  });
});

function call(id: string, name: string, args: string): object {
  return { id, type: "function", function: { name, arguments: args } };
}

async function readAll(run: AsyncIterable<string>): Promise<void> {
  for await (const _ of run);
}
