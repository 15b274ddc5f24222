/** The result of one call as the runtime knows it, and in the form in which each provider wants it back. */
import type { DecodableFormat } from "../stream/index.ts";
import type { ResultStatus } from "./result-text.ts";

export interface ToolResult {
  /** Place of the call in the message, from 0. */
  readonly number: number;
  readonly id: string;
  /** The wire gave none: Gemini gets none back, the others get this one. */
  readonly idGenerated: boolean;
  readonly name: string;
  readonly status: ResultStatus;
  readonly isError: boolean;
  /** What the model gets to read; begins with `error: ` if it is one. Never empty for an error. */
  readonly text: string;
  readonly charsCut: number;
  /** As the tool answered it; undefined unless the status is `ok`. */
  readonly value: unknown;
  readonly times: CallTimes;
}

/** Whole µs on the turn's clock; null for what has not happened. */
export interface CallTimes {
  /** The read with the last brace of the arguments. */
  readonly sealedUs: number | null;
  readonly startedUs: number | null;
  readonly endedUs: number;
  /** How long before the end of the message it started; 0 if after it. */
  readonly headStartUs: number;
}

/**
 * Results in the order of their calls, one per id: of two calls with one id a provider wants one result.
 * @returns items for `messages` (chat, Anthropic), `input` (responses) or `contents` (Gemini); empty without results.
 */
export function resultMessages(
  format: DecodableFormat,
  results: readonly ToolResult[],
): readonly object[] {
  const seen = new Set<string>();
  const once = results.filter(({ id }) => !seen.has(id) && seen.add(id));
  if (once.length === 0) return [];
  switch (format) {
    case "openai-chat":
      return once.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
    case "openai-responses":
      return once.map(({ id, text }) => ({
        type: "function_call_output",
        call_id: id,
        output: text,
      }));
    case "anthropic-messages":
      return [{ role: "user", content: once.map(toolResultBlock) }];
    case "gemini":
      return [{ role: "user", parts: once.map(functionResponse) }];
  }
}

function toolResultBlock({ id, text, isError }: ToolResult): object {
  return {
    type: "tool_result",
    tool_use_id: id,
    content: text,
    ...(isError && { is_error: true }),
  };
}

function functionResponse({ id, idGenerated, name, text, isError }: ToolResult): object {
  return {
    functionResponse: {
      ...(!idGenerated && { id }),
      name,
      response: isError ? { error: text } : { output: text },
    },
  };
}
