/**
 * Turns that an agent plays to itself before its first one, so that its first tool call starts as soon after its last brace
 * as the thousandth: a fresh process parses, seals and dispatches in code that nothing has compiled yet. Nothing is sent,
 * and no tool of the agent's runs.
 */
import { type Clock, realClock } from "../../clock/index.ts";
import { createEncoder, type DecodableFormat, type StreamEventBody } from "../../stream/index.ts";
import { tool } from "../tool.ts";
import { ToolBox } from "../tool-box.ts";
import { Turn } from "../turn.ts";

export interface DispatchRehearsal {
  /** Whose streams the agent will read. Default: all four. */
  readonly formats?: readonly DecodableFormat[];
  /** Of each format. Default 200, which takes 50 to 150 ms in all. */
  readonly turns?: number;
  readonly clock?: Clock;
}

const FORMATS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"] as const;
/** Between two breaths for whatever else is starting. */
const TURNS_AT_ONCE = 10;
const UTF8 = new TextEncoder();
const ARGS = JSON.stringify({ query: "is it warm", limit: 3, tags: ["a", "b"] });
const PIECES = ARGS.match(/.{1,4}/g)!;

/** @returns how many calls were played; resolves when all have ended. */
export async function rehearseDispatch(options: DispatchRehearsal = {}): Promise<number> {
  const { formats = FORMATS, turns = 200, clock = realClock } = options;
  let calls = 0;
  const tools = new ToolBox([
    tool({
      name: "rehearsal",
      effect: "pure",
      input: (value) => value,
      run: () => {
        calls += 1;
      },
    }),
  ]);
  for (const format of formats) {
    const reads = readsOf(format);
    for (let i = 0; i < turns; i += 1) {
      if (i % TURNS_AT_ONCE === 0) await clock.sleepUntil(clock.nowUs());
      const turn = new Turn({ tools, clock });
      const step = turn.step(format);
      for (const read of reads) step.push(read);
      step.end();
      await step.messages();
      await turn.close();
    }
  }
  return calls;
}

/** A message with text and two calls, in reads of one frame or a few. */
function readsOf(format: DecodableFormat): Uint8Array[] {
  if (format === "gemini") return [GEMINI, GEMINI_END].map((frame) => UTF8.encode(frame));
  const head = { id: "rehearsal", model: "rehearsal", createdS: 0, includeUsage: true };
  const encoder = createEncoder(format, head);
  return message()
    .map((event) => encoder.encode(event))
    .filter((frame) => frame !== "")
    .map((frame) => UTF8.encode(frame));
}

function message(): StreamEventBody[] {
  const events: StreamEventBody[] = [
    { type: "response-start", id: "rehearsal", model: "rehearsal" },
    { type: "block-start", kind: "text" },
    { type: "text-delta", choice: 0, text: "Let me see." },
  ];
  for (const call of [0, 1]) {
    const one = {
      choice: 0,
      call,
      id: `r${call}`,
      name: "rehearsal",
      idGenerated: false,
      byServer: false,
    };
    events.push({ type: "tool-start", ...one });
    for (const json of PIECES) events.push({ type: "tool-delta", choice: 0, call, json });
    events.push({ type: "tool-end", ...one, argumentsText: ARGS, repaired: false, problem: null });
  }
  events.push(
    { type: "finish", choice: 0, reason: "tool_calls", rawReason: "tool_calls" },
    { type: "done" },
  );
  return events;
}

const GEMINI_CALL = { functionCall: { name: "rehearsal", args: JSON.parse(ARGS) as object } };
const GEMINI = geminiFrame({ content: { role: "model", parts: [GEMINI_CALL, GEMINI_CALL] } });
const GEMINI_END = geminiFrame({ content: { role: "model", parts: [] }, finishReason: "STOP" });

function geminiFrame(candidate: object): string {
  return `data: ${JSON.stringify({ candidates: [{ index: 0, ...candidate }] })}\n\n`;
}
