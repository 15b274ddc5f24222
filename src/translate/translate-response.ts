/** A whole answer, one that was not streamed, from the upstream's format into the caller's. */
import type { StreamFormat } from "../stream/index.ts";
import { convertUsage } from "../stream/wire-words.ts";
import type { CanonicalAnswer } from "./canonical-answer.ts";
import { readAnswer } from "./read-answer.ts";
import {
  type AnswerHead,
  writeChatAnswer,
  writeMessagesAnswer,
  writeResponsesAnswer,
} from "./write-answer.ts";

export interface ResponseOptions {
  /** Of the answer, if the upstream gives it none. */
  readonly id: string;
  /** The model that the caller asked for; without it the upstream's own name is passed on. */
  readonly model?: string;
  /** Unix time, seconds, for formats that carry it, if the upstream's does not. Default 0. */
  readonly createdS?: number;
}

const WRITERS: Readonly<
  Record<StreamFormat, (answer: CanonicalAnswer, head: AnswerHead) => object>
> = {
  "openai-chat": writeChatAnswer,
  "openai-responses": writeResponsesAnswer,
  "anthropic-messages": writeMessagesAnswer,
};

/**
 * @param body the answer's parsed JSON; errors are for `translateError`.
 * @throws MANX_TRANSLATE_ANSWER if it is no answer of the format `from`, or holds a call that `to` cannot.
 */
export function translateResponse(
  body: unknown,
  from: StreamFormat,
  to: StreamFormat,
  options: ResponseOptions,
): object {
  const answer = readAnswer(body, from);
  const usage = convertUsage(answer.usage, from, to);
  return WRITERS[to](
    { ...answer, usage },
    {
      id: answer.id ?? options.id,
      model: options.model ?? answer.model ?? "",
      createdS: answer.createdS ?? options.createdS ?? 0,
    },
  );
}
