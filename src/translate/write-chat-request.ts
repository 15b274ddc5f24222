/** A request in the form of OpenAI's chat completions. */
import { dropCacheMark } from "./cache-mark.ts";
import type {
  CanonicalRequest,
  ContentPart,
  Part,
  Reasoning,
  ResultPart,
  Turn,
} from "./canonical-request.ts";
import { effortOf } from "./effort.ts";
import { untranslatable } from "./fields.ts";
import { urlOf } from "./media.ts";
import type { Notes } from "./notes.ts";
import { isStrictSchema } from "./strict-schema.ts";
import { isResult, isTextOnly, joinTurns, textOfParts } from "./turns.ts";

export interface ChatTarget {
  readonly model: string;
  /** Which field sets the limit: newer models of OpenAI take the longer name only, some other servers the shorter. */
  readonly tokensField: "max_completion_tokens" | "max_tokens";
}

export function writeChatRequest(
  request: CanonicalRequest,
  target: ChatTarget,
  notes: Notes,
): Record<string, unknown> {
  const { tokensMax, temperature, topP, stop, isStream, userId } = request;
  if (request.topK !== null) notes.dropped("top_k", "the API has no such field");
  if (isStream && !request.includeUsage) notes.added("stream_options", "so that usage is known");
  const effort = effortWord(request.reasoning, notes);
  return {
    model: target.model,
    messages: writeMessages(request.turns, notes),
    ...(tokensMax !== null && { [target.tokensField]: tokensMax }),
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { top_p: topP }),
    ...(stop.length > 0 && { stop }),
    ...(isStream && { stream: true, stream_options: { include_usage: true } }),
    ...writeTools(request, notes),
    ...(effort !== null && { reasoning_effort: effort }),
    ...responseFormat(request),
    ...(userId !== null && { user: userId }),
  };
}

/** @returns OpenAI's word, or null to leave it to the model. */
export function effortWord(reasoning: Reasoning | null, notes: Notes): string | null {
  if (reasoning === null) return null;
  const { mode, effort, budgetTokens } = reasoning;
  if (mode === "off") {
    notes.dropped("thinking", "not every model has a word for none");
    return null;
  }
  if (effort !== null) return effort;
  if (budgetTokens === null) return null;
  notes.changed("thinking.budget_tokens", "a level of effort");
  return effortOf(budgetTokens);
}

function writeMessages(turns: readonly Turn[], notes: Notes): object[] {
  const joined = joinTurns(turns);
  if (joined.at(-1)?.role === "assistant") {
    notes.changed("messages", "not every model goes on with a last assistant message");
  }
  return joined.flatMap((turn) => {
    if (turn.role === "assistant") return assistantMessage(turn, notes);
    if (turn.role === "user") return userMessages(turn, notes);
    return [{ role: "system", content: content(turn.parts, turn.path, notes) }];
  });
}

function assistantMessage({ parts, path }: Turn, notes: Notes): object[] {
  const calls = parts.flatMap((part) => {
    if (part.kind === "thinking") {
      notes.dropped(`${path}.content[].thinking`, "the API takes no thinking back");
    }
    if (part.kind !== "call") return [];
    dropCacheMark(part.cacheMark, path, { notes });
    const named = { name: part.name, arguments: part.argumentsText };
    return { id: part.id, type: "function", function: named };
  });
  const texts = parts.filter((part) => part.kind === "text");
  for (const { cacheMark } of texts) dropCacheMark(cacheMark, path, { notes });
  const media = parts.find((part) => part.kind === "image" || part.kind === "document");
  if (media !== undefined) throw untranslatable(path, "an assistant message holds text only");
  if (texts.length === 0 && calls.length === 0) return [];
  const text = texts.length === 0 ? null : textOfParts(texts);
  return [{ role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: calls }) }];
}

/** Results first: the API wants them right after the calls. */
function userMessages(turn: Turn, notes: Notes): object[] {
  const results = turn.parts.filter(isResult);
  const moved: ContentPart[] = [];
  const messages: object[] = results.map((part) => toolMessage(part, turn.path, moved, notes));
  const said = turn.parts.filter((part) => !isResult(part));
  const rest = [...moved, ...said];
  if (rest.length > 0) {
    messages.push({ role: "user", content: content(rest, turn.path, notes) });
  }
  return messages;
}

/** A tool message holds text; what a tool has shown besides is put into the user's message that follows. */
function toolMessage(part: ResultPart, path: string, moved: ContentPart[], notes: Notes): object {
  dropCacheMark(part.cacheMark, path, { notes });
  if (part.isError) notes.dropped(`${path}.content[].is_error`, "the API has no such field");
  const shown = part.parts.filter((one) => one.kind !== "text");
  if (shown.length > 0) {
    notes.changed(`${path}.content`, "what a tool has shown stands after its result");
    moved.push(...shown);
  }
  return { role: "tool", tool_call_id: part.callId, content: textOfParts(part.parts) };
}

function content(parts: readonly Part[], path: string, notes: Notes): string | object[] {
  const [first] = parts;
  const isPlain = parts.length === 1 && first !== undefined && isTextOnly(parts);
  for (const part of parts) {
    if (part.kind !== "thinking") dropCacheMark(part.cacheMark, path, { notes });
  }
  if (isPlain || parts.length === 0) return textOfParts(parts);
  return parts.flatMap((part) => {
    switch (part.kind) {
      case "text":
        return { type: "text", text: part.text };
      case "image":
        return { type: "image_url", image_url: { url: urlOf(part.source) } };
      case "document":
        if (part.source.kind === "url") {
          throw untranslatable(path, "a document is taken as bytes, not by its address");
        }
        return {
          type: "file",
          file: { filename: part.name ?? "document.pdf", file_data: urlOf(part.source) },
        };
      default:
        throw untranslatable(path, "a user's message holds text, images and documents");
    }
  });
}

function writeTools(request: CanonicalRequest, notes: Notes): object {
  const { toolChoice, parallelCalls } = request;
  if (request.tools.length === 0) return {};
  const tools = request.tools.map(({ name, description, schema, isStrict, cacheMark }) => {
    dropCacheMark(cacheMark, "tools[0]", { notes });
    const named = {
      name,
      ...(description !== null && { description }),
      ...(schema !== null && { parameters: schema }),
      ...(isStrict === true && { strict: true }),
    };
    return { type: "function", function: named };
  });
  const choice =
    toolChoice?.kind === "named"
      ? { type: "function", function: { name: toolChoice.name } }
      : toolChoice?.kind;
  return {
    tools,
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallelCalls !== null && { parallel_tool_calls: parallelCalls }),
  };
}

function responseFormat({ outputForm }: CanonicalRequest): object {
  if (outputForm === null) return {};
  if (outputForm.kind === "json") return { response_format: { type: "json_object" } };
  const { name, description, schema } = outputForm;
  const strict = outputForm.isStrict ?? isStrictSchema(schema);
  const named = { name, ...(description !== null && { description }), schema, strict };
  return { response_format: { type: "json_schema", json_schema: named } };
}
