/**
 * Streams with tool calls, cut anywhere, on every wire: what must hold of them, whatever they hold. Used by a short test
 * and by `npm run fuzz:dispatch` with a hundred thousand of them.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import { type Effect, type Tool, Turn, tool } from "../../src/runtime/index.ts";
import type { DecodableFormat } from "../../src/stream/index.ts";
import { bytesOf, chatWire, messagesWire } from "./wire-text.ts";

interface PlannedCall {
  readonly effect: Effect;
  readonly args: unknown;
}

interface Wire {
  readonly bytes: Uint8Array;
  /** Bytes after which the message is whole. */
  readonly wholeAt: number;
}

const FORMATS: readonly DecodableFormat[] = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "gemini",
];
const EFFECTS: readonly Effect[] = ["pure", "idempotent", "reversible", "irreversible"];
const GOOD: Readonly<Record<DecodableFormat, string>> = {
  "openai-chat": "tool_calls",
  "openai-responses": "response.completed",
  "anthropic-messages": "tool_use",
  gemini: "STOP",
};
const BAD: Readonly<Record<DecodableFormat, readonly string[]>> = {
  "openai-chat": ["length", "content_filter"],
  "openai-responses": ["response.incomplete", "response.failed"],
  "anthropic-messages": ["max_tokens", "refusal", "pause_turn", "stop_sequence"],
  gemini: ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"],
};
const TEXTS: readonly string[] = ["a", '"}', "\\", "é", "🙂", "\n", "{", "]", "tool_use"];

/** @returns what is wrong, or null. */
export function truncationProblem(seed: number): string | null {
  const random = new Random(seed, "truncation");
  const format = FORMATS[random.int(FORMATS.length)]!;
  const calls = Array.from({ length: 1 + random.int(4) }, () => ({
    effect: EFFECTS[random.int(EFFECTS.length)]!,
    args: { q: textOf(random), n: [random.int(100), { x: textOf(random) }] },
  }));
  const isGood = random.next() < 0.5;
  const bad = BAD[format];
  const reason = isGood ? GOOD[format] : bad[random.int(bad.length)]!;
  const wire = WRITERS[format](calls, reason, random);
  const cut = random.next() < 0.1 ? wire.bytes.length : random.int(wire.bytes.length + 1);
  const isSafe = isGood && cut >= wire.wholeAt;
  return checkRun(format, calls, wire.bytes.subarray(0, cut), isSafe, random);
}

function checkRun(
  format: DecodableFormat,
  calls: readonly PlannedCall[],
  bytes: Uint8Array,
  isSafe: boolean,
  random: Random,
): string | null {
  const runs: { readonly effect: Effect; readonly args: unknown }[] = [];
  let undone = 0;
  const tools: Tool[] = EFFECTS.map((effect) =>
    tool<unknown, unknown>({
      name: effect,
      effect,
      input: (value) => value,
      run: (args) => {
        runs.push({ effect, args });
        return "done";
      },
      ...(effect === "reversible" && {
        undo: () => {
          undone += 1;
        },
      }),
    }),
  );
  const step = new Turn({ tools, clock: new SimClock() }).step(format);
  const committed = (): number =>
    runs.filter(({ effect }) => effect === "irreversible" || effect === "idempotent").length;
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + 1 + random.int(80));
    step.push(bytes.subarray(from, to));
    if (step.verdict === undefined && committed() > 0)
      return "a call began before its message was whole";
    from = to;
  }
  step.end();
  if ((step.verdict === "run") !== isSafe) return `verdict ${step.verdict}, safe: ${isSafe}`;
  const count = (effect: Effect): number => runs.filter((one) => one.effect === effect).length;
  if (!isSafe) {
    if (committed() > 0) return "a call of an unsafe message was run";
    if (count("reversible") !== undone) return "what was begun was not undone";
    return null;
  }
  if (undone > 0) return "something was undone for no reason";
  for (const effect of EFFECTS) {
    const asked = calls
      .filter((one) => one.effect === effect)
      .map(({ args }) => JSON.stringify(args));
    const ran = runs.filter((one) => one.effect === effect).map(({ args }) => JSON.stringify(args));
    if (asked.sort().join() !== ran.sort().join()) return `${effect}: ran ${ran}, asked ${asked}`;
  }
  return null;
}

function textOf(random: Random): string {
  return Array.from({ length: random.int(6) }, () => TEXTS[random.int(TEXTS.length)]!).join("");
}

function pieces(text: string, random: Random): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    const to = from + 1 + random.int(12);
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

/** @param wholeFrames frames up to and with the one that makes it whole. */
function joined(frames: readonly string[], wholeFrames: number): Wire {
  const wholeAt = bytesOf(frames.slice(0, wholeFrames).join("")).length;
  return { bytes: bytesOf(frames.join("")), wholeAt };
}

type Writer = (calls: readonly PlannedCall[], reason: string, random: Random) => Wire;

const WRITERS: Readonly<Record<DecodableFormat, Writer>> = {
  "openai-chat": (calls, reason, random) => {
    const choice = (delta: object, finish_reason: string | null = null): string =>
      chatWire({ id: "x", choices: [{ index: 0, delta, finish_reason }] });
    const frames = calls.flatMap(({ effect, args }, index) => [
      choice({
        tool_calls: [{ index, id: `c${index}`, function: { name: effect, arguments: "" } }],
      }),
      ...pieces(JSON.stringify(args), random).map((json) =>
        choice({ tool_calls: [{ index, function: { arguments: json } }] }),
      ),
    ]);
    frames.push(choice({}, reason));
    return joined([...frames, chatWire("[DONE]")], frames.length);
  },
  "openai-responses": (calls, reason, random) => {
    const frames = calls.flatMap(({ effect, args }, output_index) => {
      const item = {
        type: "function_call",
        id: `i${output_index}`,
        call_id: `c${output_index}`,
        name: effect,
      };
      const json = JSON.stringify(args);
      return [
        messagesWire({ type: "response.output_item.added", output_index, item } as never),
        ...pieces(json, random).map((delta) =>
          messagesWire({
            type: "response.function_call_arguments.delta",
            output_index,
            delta,
          } as never),
        ),
        messagesWire({
          type: "response.output_item.done",
          output_index,
          item: { ...item, arguments: json },
        } as never),
      ];
    });
    frames.push(messagesWire({ type: reason, response: { id: "r" } } as never));
    return joined(frames, frames.length);
  },
  "anthropic-messages": (calls, reason, random) => {
    const frames = [messagesWire({ type: "message_start", message: { id: "m" } } as never)];
    for (const [index, { effect, args }] of calls.entries()) {
      const content_block = { type: "tool_use", id: `c${index}`, name: effect, input: {} };
      frames.push(messagesWire({ type: "content_block_start", index, content_block } as never));
      for (const partial_json of pieces(JSON.stringify(args), random)) {
        const delta = { type: "input_json_delta", partial_json };
        frames.push(messagesWire({ type: "content_block_delta", index, delta } as never));
      }
      frames.push(messagesWire({ type: "content_block_stop", index } as never));
    }
    frames.push(messagesWire({ type: "message_delta", delta: { stop_reason: reason } } as never));
    return joined([...frames, messagesWire({ type: "message_stop" })], frames.length);
  },
  gemini: (calls, reason, random) => {
    const parts = calls.map(({ effect, args }) => ({
      candidates: [{ content: { parts: [{ functionCall: { name: effect, args } }] } }],
    }));
    const all: object[] = [...parts, { candidates: [{ finishReason: reason }] }];
    if (random.next() < 0.5)
      return joined(
        all.map((one) => chatWire(one)),
        all.length,
      );
    const elements = all.map(
      (one, i) => `${i === 0 ? "[" : ",\r\n"}${JSON.stringify(one, null, 1)}`,
    );
    return joined([...elements, "\n]"], all.length);
  },
};
