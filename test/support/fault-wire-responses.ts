/** The matrix's one answer in the format of OpenAI's responses API: every event is named and numbered. */
import type { StreamWire } from "./fault-wire.ts";

const MODEL = "m";
const ITEM = { id: "msg_1", type: "message", role: "assistant" };
const PLACE = { item_id: "msg_1", output_index: 0, content_index: 0 };

function event(type: string, sequence_number: number, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`;
}

function textPart(text: string): object {
  return { type: "output_text", text, annotations: [] };
}

function response(status: string, output: readonly object[], usage: object | null): object {
  const fixed = { id: "resp_1", object: "response", created_at: 1, model: MODEL, error: null };
  return { ...fixed, incomplete_details: null, status, output, usage };
}

const USAGE = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 5,
};

export function wholeResponse(text: string): object {
  return response(
    "completed",
    [{ ...ITEM, status: "completed", content: [textPart(text)] }],
    USAGE,
  );
}

/** @param first the text's two halves. */
export function responsesWire(first: string, second: string): StreamWire {
  const text = first + second;
  const item = { ...ITEM, status: "completed", content: [textPart(text)] };
  const call = {
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    name: "look",
    arguments: "",
  };
  return {
    preamble:
      event("response.created", 0, { response: response("in_progress", [], null) }) +
      event("response.output_item.added", 1, { output_index: 0, item: { ...ITEM, content: [] } }) +
      event("response.content_part.added", 2, { ...PLACE, part: textPart("") }),
    first: event("response.output_text.delta", 3, { ...PLACE, delta: first }),
    second: event("response.output_text.delta", 4, { ...PLACE, delta: second }),
    ending:
      event("response.output_text.done", 5, { ...PLACE, text }) +
      event("response.content_part.done", 6, { ...PLACE, part: textPart(text) }) +
      event("response.output_item.done", 7, { output_index: 0, item }) +
      event("response.completed", 8, { response: wholeResponse(text) }),
    toolCall:
      event("response.output_item.added", 3, { output_index: 1, item: call }) +
      event("response.function_call_arguments.delta", 4, {
        item_id: "fc_1",
        output_index: 1,
        delta: '{"place":"Os',
      }),
    error: event("error", 4, { code: "server_error", message: "Overloaded", param: null }),
    ping: ": keep-alive\n\n",
  };
}
