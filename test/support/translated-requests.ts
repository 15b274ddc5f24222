/** What the tests of translated requests share: the formats, small requests, and their notes. */
import type { StreamFormat } from "../../src/stream/index.ts";
import { type RequestOptions, translateRequest } from "../../src/translate/index.ts";

export const CHAT = "openai-chat";
export const RESPONSES = "openai-responses";
export const MESSAGES = "anthropic-messages";
const FORMATS: readonly StreamFormat[] = [CHAT, RESPONSES, MESSAGES];
export const PAIRS = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const)).filter(
  ([from, to]) => from !== to,
);

export const hello = [{ role: "user", content: "Hi" }];
export const weather = {
  type: "function",
  function: { name: "get", description: "d", parameters: { type: "object", properties: {} } },
};

export function chat(fields: object, to: StreamFormat = MESSAGES, options: RequestOptions = {}) {
  return translateRequest({ model: "m", messages: hello, ...fields }, CHAT, to, options);
}

export function messages(fields: object, to: StreamFormat = CHAT) {
  return translateRequest(
    { model: "m", max_tokens: 100, messages: hello, ...fields },
    MESSAGES,
    to,
  );
}

export function notedFields(result: {
  notes: readonly { field: string; action: string }[];
}): string[] {
  return result.notes.map(({ field, action }) => `${action} ${field}`);
}
