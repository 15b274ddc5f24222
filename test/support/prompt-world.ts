/**
 * A support agent of 8,000 tokens of rules and tools, in many conversations at once: as people write it, with the time at the
 * top and tools in the order of a hash map, and compiled. The same questions at the same times, through the twin's radix cache
 * and through a simulated provider.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import { ENGINE_DEFAULTS } from "../../src/engine/index.ts";
import { replay, type WorkRequest } from "../../src/load/index.ts";
import { layoutOf, textHash, tokensOf } from "../../src/policy/index.ts";
import {
  compilePrompt,
  PromptLinter,
  type PromptMessage,
  type PromptPart,
  type PromptTool,
  recordedRequests,
  SimulatedPromptCache,
} from "../../src/runtime/index.ts";
import { histogramQuantile } from "../../src/stats/index.ts";
import { words } from "./prompt-mutations.ts";

type Json = Record<string, unknown>;
type Layout = "as written" | "compiled";

export interface PromptWorldOptions {
  readonly conversations: number;
  readonly turns: number;
  readonly seed: number;
}

interface Asked {
  readonly atUs: number;
  readonly conversation: string;
  readonly body: Json;
}

export interface LayoutFigures {
  readonly n: number;
  /** Tokens from the twin's cache, of all prompt tokens. */
  readonly hitShare: number;
  /** … from the simulated provider's. */
  readonly providerShare: number;
  readonly ttftMsP50: number;
  readonly ttftMsP99: number;
  /** Breaks that the linter counts, and its first cause. */
  readonly breaks: number;
  readonly topCause: string | undefined;
}

const MODEL = "claude-sonnet-4-5";
const PIECE_TOKENS = 16;
const CHARS_PER_TOKEN = 4;
const US_PER_S = 1_000_000;
const START_MS = Date.UTC(2026, 10, 29, 10);

/** Both layouts of one workload. */
export function promptWorld(options: PromptWorldOptions): Record<Layout, LayoutFigures> {
  const times = arrivals(options);
  return {
    "as written": measure(requests("as written", options, times)),
    compiled: measure(requests("compiled", options, times)),
  };
}

interface Arrival {
  readonly atUs: number;
  readonly conversation: number;
  readonly turn: number;
}

/** A conversation begins every 8 s on average; its turns are some 10 s apart. */
function arrivals({ conversations, turns, seed }: PromptWorldOptions): Arrival[] {
  const random = new Random(seed, "prompt-arrivals");
  const all: Arrival[] = [];
  let beginUs = 0;
  for (let conversation = 0; conversation < conversations; conversation += 1) {
    beginUs += Math.round(random.exponential(8 * US_PER_S));
    let atUs = beginUs;
    for (let turn = 0; turn < turns; turn += 1) {
      all.push({ atUs, conversation, turn });
      atUs += Math.round(5 * US_PER_S + random.exponential(5 * US_PER_S));
    }
  }
  return all.sort((a, b) => a.atUs - b.atUs || a.conversation - b.conversation);
}

function requests(layout: Layout, options: PromptWorldOptions, times: readonly Arrival[]): Asked[] {
  const random = new Random(options.seed, "prompt-texts");
  const order = new Random(options.seed, "prompt-tools");
  const rules = `You support customers. ${words(random, 3_500)}.`;
  const tools: PromptTool[] = Array.from({ length: 20 }, (_, i) => ({
    name: `tool_${i}`,
    description: words(random, 40),
    parameters: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  }));
  const said = Array.from({ length: options.conversations }, () =>
    Array.from({ length: options.turns }, () => [words(random, 30), words(random, 90)] as const),
  );
  return times.map(({ atUs, conversation, turn }) => {
    const rounds = said[conversation]!;
    const history: PromptMessage[] = rounds.slice(0, turn).flatMap(([question, answer]) => [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ]);
    const parts = { rules, tools, history, question: rounds[turn]![0] };
    const time = new Date(START_MS + Math.floor(atUs / 1_000)).toISOString();
    const body =
      layout === "compiled"
        ? compiled(parts, time)
        : written(parts, time, order.shuffle([...tools]));
    return { atUs, conversation: `c${conversation}`, body };
  });
}

interface Parts {
  readonly rules: string;
  readonly tools: readonly PromptTool[];
  readonly history: readonly PromptMessage[];
  readonly question: string;
}

function written(
  { rules, history, question }: Parts,
  time: string,
  tools: readonly PromptTool[],
): Json {
  return {
    model: MODEL,
    max_tokens: 100,
    tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    system: [
      { type: "text", text: `Now: ${time}. ${rules}`, cache_control: { type: "ephemeral" } },
    ],
    messages: [...history, { role: "user", content: question }],
  };
}

function compiled({ rules, tools, history, question }: Parts, time: string): Json {
  const parts: PromptPart[] = [
    { kind: "system", stability: "turn", text: `Now: ${time}.` },
    { kind: "tools", stability: "static", tools },
    { kind: "system", stability: "static", text: rules },
    { kind: "history", messages: history },
    { kind: "input", text: question },
  ];
  const { body } = compilePrompt(parts, {
    format: "anthropic-messages",
    model: MODEL,
    settings: { max_tokens: 100 },
  });
  return { ...body };
}

function measure(asked: readonly Asked[]): LayoutFigures {
  const { histograms, prefix } = replay({
    name: "prompt layout",
    requests: asked.map(({ atUs, body }, row) => workOf(atUs, body, row)),
    workload: "a support agent",
    arrivals: "drawn",
    seed: null,
    config: { ...ENGINE_DEFAULTS, memory: "radix", pieceTokens: PIECE_TOKENS },
  });
  const { requests: n, breaks, groups } = lint(asked);
  return {
    n,
    hitShare: prefix.hitTokens / prefix.queriedTokens,
    providerShare: providerShare(asked),
    ttftMsP50: histogramQuantile(histograms.ttftUs, 0.5).value / 1_000,
    ttftMsP99: histogramQuantile(histograms.ttftUs, 0.99).value / 1_000,
    breaks,
    topCause: groups[0]?.cause,
  };
}

/** A piece's name stands for all of the prompt up to its end. */
function workOf(atUs: number, body: Json, row: number): WorkRequest {
  const text = layoutOf(body)
    .parts.filter(({ kind }) => kind !== "setting")
    .map((part) => part.text)
    .join("\n");
  const blockHashes: number[] = [];
  const chars = PIECE_TOKENS * CHARS_PER_TOKEN;
  let name = 1;
  for (let from = 0; from < text.length; from += chars) {
    name = textHash(`${name} ${text.slice(from, from + chars)}`);
    blockHashes.push(name);
  }
  return { atUs, promptTokens: tokensOf(text.length), outputTokens: 120, blockHashes, row };
}

function lint(asked: readonly Asked[]) {
  const linter = new PromptLinter();
  for (const [i, { conversation, body }] of asked.entries()) {
    const record = { conversation, body };
    const source = { file: "log.jsonl", line: i + 1, json: JSON.stringify(record) };
    for (const request of recordedRequests(record)) linter.add(request, source);
  }
  return linter.summary();
}

function providerShare(asked: readonly Asked[]): number {
  const clock = new SimClock();
  const cache = new SimulatedPromptCache({ clock });
  let read = 0;
  let all = 0;
  for (const { atUs, body } of asked) {
    clock.runSync(atUs);
    const { readTokens, writtenTokens, inputTokens } = cache.ask(body).usage;
    read += readTokens;
    all += readTokens + writtenTokens + inputTokens;
  }
  return read / all;
}
