/**
 * What attribution costs an agent: a turn of eight spans, recorded with tracing on and off, against the same turn without
 * any of it. Then what is made of a turn after the answer has gone out, and how large turns grow.
 *
 * Rounds alternate; the least time of a round is the figure, since noise only adds, and the median stands beside it.
 *
 *     npm run bench:attribution
 */
import { realClock } from "../src/clock/index.ts";
import { ToolBox, Turn, tool } from "../src/runtime/index.ts";
import {
  attribute,
  criticalPath,
  NO_TURN,
  type OpenSpan,
  type Span,
  TurnRecorder,
  type TurnTrace,
  TurnTree,
  turnRecord,
} from "../src/trace/index.ts";
import { writeOtlp } from "../src/trace/otlp/index.ts";

const TURNS = 2_000;
const ROUNDS = 25;
const GOAL_ON_US = 50;
const GOAL_OFF_US = 10;
const GOAL_LARGE_MS = 1_000;

const UTF8 = new TextEncoder();

let sink = 0;

/** Turn, two steps, two model calls, two tools side by side, a guardrail: eight spans with what they usually carry. */
function agentTurn(turn: TurnTrace): void {
  turn.set("gen_ai.conversation.id", "c-17");
  turn.span("step", "step 1", (step) => {
    const model = step.begin("model-call", "gpt-5");
    modelFacts(model);
    model.end();
    step.span("tool-call", "search", (tool) => toolFacts(tool, "call_1"), { after: [model] });
    step.span("tool-call", "weather", (tool) => toolFacts(tool, "call_2"), { after: [model] });
  });
  turn.span("step", "step 2", (step) => {
    step.span("model-call", "gpt-5", modelFacts);
    step.span("guardrail", "pii", () => undefined);
  });
}

function modelFacts(span: OpenSpan): void {
  span.set("gen_ai.provider.name", "openai");
  span.set("gen_ai.request.model", "gpt-5");
  span.event("connection-ready");
  span.event("output-start");
  span.event("output-end");
  span.set("gen_ai.usage.input_tokens", 1_200);
  span.set("gen_ai.usage.output_tokens", 85);
}

function toolFacts(span: OpenSpan, id: string): void {
  span.set("gen_ai.tool.call.id", id);
  sink += id.length;
}

function recorded(): ReturnType<TurnRecorder["finish"]> {
  const turn = new TurnRecorder({ clock: realClock, name: "support" });
  agentTurn(turn);
  return turn.finish();
}

const TOOLS = new ToolBox(
  ["search", "weather"].map((name) =>
    tool({ name, effect: "pure", input: (value) => value, run: () => "done" }),
  ),
);
const ASKS = UTF8.encode(
  ["search", "weather"]
    .map((name, index) => {
      const call = { index, id: `c${index}`, function: { name, arguments: "{}" } };
      return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`;
    })
    .join(""),
);
const FINISHES = UTF8.encode(
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
);

/** The runtime's own turn of the same size: turn, two steps, two model calls, two tools and what the agent adds. */
function runtimeTurn(trace: TurnTrace): void {
  const turn = new Turn({ tools: TOOLS, trace });
  turn.trace.span("guardrail", "pii", () => undefined);
  const step = turn.step("openai-chat", { model: "gpt-5" });
  step.push(ASKS);
  step.push(FINISHES);
  step.end();
  const last = turn.step("openai-chat", { model: "gpt-5" });
  last.push(FINISHES);
  last.end();
  void turn.close();
  sink += trace.finish()?.spans.length ?? 1;
}

const one = recorded();
const record = turnRecord(one);
const CASES: readonly [name: string, run: () => void, goalUs?: number][] = [
  ["tracing off", () => agentTurn(NO_TURN), GOAL_OFF_US],
  [
    "recorded",
    () => {
      sink += recorded().spans.length;
    },
    GOAL_ON_US,
  ],
  [
    "recorded and attributed",
    () => {
      sink += attribute(new TurnTree(recorded().spans)).wallUs;
    },
    GOAL_ON_US,
  ],
  ["runtime, tracing off", () => runtimeTurn(NO_TURN)],
  ["runtime, recorded", () => runtimeTurn(new TurnRecorder({ clock: realClock, name: "support" }))],
  [
    "document of a recorded turn",
    () => {
      sink += turnRecord(one).path.length;
    },
  ],
  [
    "OTLP/JSON text of a document",
    () => {
      sink += JSON.stringify(writeOtlp([record])).length;
    },
  ],
];

function usPerTurn(run: () => void): number {
  const start = process.hrtime.bigint();
  for (let i = 0; i < TURNS; i += 1) run();
  return Number(process.hrtime.bigint() - start) / 1_000 / TURNS;
}

const times = CASES.map((): number[] => []);
for (const [, run] of CASES) usPerTurn(run);
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [i, [, run]] of CASES.entries()) times[i]!.push(usPerTurn(run));
}

console.log(
  `a turn of ${one.spans.length} spans, µs; ${ROUNDS} rounds of ${TURNS}, node ${process.version}`,
);
console.log(`${" ".repeat(30)}${"min".padStart(8)}${"median".padStart(8)}`);
for (const [i, [name, , goalUs]] of CASES.entries()) {
  const sorted = times[i]!.toSorted((a, b) => a - b);
  const cells = [sorted[0]!, sorted[ROUNDS >> 1]!].map((us) => us.toFixed(2).padStart(8)).join("");
  const verdict =
    goalUs === undefined ? "" : `   goal <= ${goalUs}: ${sorted[0]! <= goalUs ? "met" : "missed"}`;
  console.log(`${name.padEnd(30)}${cells}${verdict}`);
}

const LARGE = 100_000;
const SHAPES: readonly [
  name: string,
  parent: (i: number) => number,
  times: (i: number) => [number, number],
][] = [
  ["deep", (i) => i - 1, (i) => [i, 4 * LARGE - i]],
  ["one after the other", () => 0, (i) => [4 * i - 4, 4 * i]],
  ["all at once", () => 0, (i) => [i, 2 * LARGE + ((i * 7_919) % (LARGE + 3))]],
];

function largeTurn([, parentOf, timesOf]: (typeof SHAPES)[number]): Span[] {
  return Array.from({ length: LARGE }, (_, i): Span => {
    const [startUs, endUs] = i === 0 ? [0, 4 * LARGE] : timesOf(i);
    const kind = i === 0 ? "turn" : "tool-call";
    const parentId = i === 0 ? null : `s${parentOf(i)}`;
    const base = { id: `s${i}`, parentId, kind, name: "x", startUs, endUs, status: "ok" } as const;
    return { ...base, attributes: {}, events: [], links: [] };
  });
}

console.log(`\na turn of ${LARGE.toLocaleString("en")} spans, ms of CPU, the least of 3`);
console.log(`${" ".repeat(30)}${"tree".padStart(8)}${"path".padStart(8)}${"phases".padStart(8)}`);
for (const shape of SHAPES) {
  const spans = largeTurn(shape);
  const best = [Infinity, Infinity, Infinity];
  for (let round = 0; round < 3; round += 1) {
    let tree = new TurnTree(spans);
    const parts = [
      () => {
        tree = new TurnTree(spans);
      },
      () => {
        sink += criticalPath(tree).length;
      },
      () => {
        sink += attribute(tree).slices.length;
      },
    ];
    for (const [i, part] of parts.entries()) {
      const before = process.cpuUsage();
      part();
      best[i] = Math.min(best[i]!, process.cpuUsage(before).user / 1_000);
    }
  }
  const cells = best.map((ms) => ms.toFixed(0).padStart(8)).join("");
  const pathMs = best[0]! + best[1]!;
  const verdict = `tree and path, goal < ${GOAL_LARGE_MS}: ${pathMs < GOAL_LARGE_MS ? "met" : "missed"}`;
  console.log(`${shape[0].padEnd(30)}${cells}   ${verdict}`);
}
if (sink === 0) throw new Error("nothing was done");
