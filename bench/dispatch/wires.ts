/** Messages with tool calls as the frames of each wire. */
import type { DecodableFormat } from "../../src/stream/index.ts";

export interface WireCall {
  readonly name: string;
  /** JSON text in the pieces in which it is sent. */
  readonly pieces: readonly string[];
}

/** Frames of the parts of one message; the last frame of `args` holds the closing brace. */
export interface WireMessage {
  readonly head: readonly string[];
  readonly calls: ReadonlyArray<{
    readonly open: readonly string[];
    readonly args: readonly string[];
    readonly close: readonly string[];
  }>;
  readonly tail: readonly string[];
}

function data(frame: unknown): string {
  return `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`;
}

function event(frame: { readonly type: string }): string {
  return `event: ${frame.type}\n${data(frame)}`;
}

function choice(delta: object, finish_reason: string | null = null): string {
  return data({ id: "x", model: "m", choices: [{ index: 0, delta, finish_reason }] });
}

type Writer = (calls: readonly WireCall[]) => WireMessage;

export const WIRE_WRITERS: Readonly<Record<DecodableFormat, Writer>> = {
  "openai-chat": (calls) => ({
    head: [choice({ role: "assistant", content: "" })],
    calls: calls.map(({ name, pieces }, index) => ({
      open: [
        choice({
          tool_calls: [
            { index, id: `c${index}`, type: "function", function: { name, arguments: "" } },
          ],
        }),
      ],
      args: pieces.map((piece) =>
        choice({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
      close: [],
    })),
    tail: [choice({}, "tool_calls"), data("[DONE]")],
  }),
  "openai-responses": (calls) => ({
    head: [event({ type: "response.created", response: { id: "r", model: "m" } } as never)],
    calls: calls.map(({ name, pieces }, output_index) => {
      const item = {
        type: "function_call",
        id: `i${output_index}`,
        call_id: `c${output_index}`,
        name,
      };
      return {
        open: [event({ type: "response.output_item.added", output_index, item } as never)],
        args: pieces.map((delta) =>
          event({ type: "response.function_call_arguments.delta", output_index, delta } as never),
        ),
        close: [
          event({
            type: "response.output_item.done",
            output_index,
            item: { ...item, arguments: pieces.join("") },
          } as never),
        ],
      };
    }),
    tail: [event({ type: "response.completed", response: { id: "r" } } as never)],
  }),
  "anthropic-messages": (calls) => ({
    head: [
      event({
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      } as never),
    ],
    calls: calls.map(({ name, pieces }, index) => {
      const content_block = { type: "tool_use", id: `c${index}`, name, input: {} };
      return {
        open: [event({ type: "content_block_start", index, content_block } as never)],
        args: pieces.map((partial_json) => {
          const delta = { type: "input_json_delta", partial_json };
          return event({ type: "content_block_delta", index, delta } as never);
        }),
        close: [event({ type: "content_block_stop", index } as never)],
      };
    }),
    tail: [
      event({
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 9 },
      } as never),
      event({ type: "message_stop" }),
    ],
  }),
  gemini: (calls) => ({
    head: [],
    calls: calls.map(({ name, pieces }) => ({
      open: [],
      args: [
        data({
          candidates: [
            { content: { parts: [{ functionCall: { name, args: JSON.parse(pieces.join("")) } }] } },
          ],
        }),
      ],
      close: [],
    })),
    tail: [data({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] })],
  }),
};
