/** A client that does not stream answers a whole message: here it becomes the chunks of one, so that the loop stays one. */
import type { DecodableFormat } from "../../stream/index.ts";

type Fields = Readonly<Record<string, unknown>>;

export function wholeAsChunks(format: DecodableFormat, answer: unknown): AsyncIterable<object> {
  if (isStream(answer)) return answer;
  return fromList(chunksOf(format, asFields(answer)));
}

function isStream(answer: unknown): answer is AsyncIterable<object> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

async function* fromList(chunks: readonly object[]): AsyncGenerator<object, void> {
  yield* chunks;
}

function chunksOf(format: DecodableFormat, message: Fields): readonly object[] {
  switch (format) {
    case "openai-responses":
      return [
        { type: "response.created", response: { ...message, output: [] } },
        ...asList(message.output).flatMap((item, output_index) => [
          { type: "response.output_item.added", output_index, item },
          { type: "response.output_item.done", output_index, item },
        ]),
        { type: `response.${String(message.status ?? "completed")}`, response: message },
      ];
    case "anthropic-messages":
      return [
        { type: "message_start", message: { ...message, content: [] } },
        ...asList(message.content).flatMap((content_block, index) => [
          { type: "content_block_start", index, content_block },
          { type: "content_block_stop", index },
        ]),
        {
          type: "message_delta",
          delta: { stop_reason: message.stop_reason },
          usage: message.usage,
        },
        { type: "message_stop" },
      ];
    default:
      // Chat and Gemini say in a whole message what they say in a chunk.
      return [message];
  }
}

function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
