/** A request in the form of OpenAI's responses. Nothing is stored: the caller's API has no place to ask for it. */
import { dropCacheMark } from "./cache-mark.ts";
import type { CanonicalRequest, Part, ThinkingPart, Turn } from "./canonical-request.ts";
import { untranslatable } from "./fields.ts";
import { urlOf } from "./media.ts";
import type { Notes } from "./notes.ts";
import { isStrictSchema } from "./strict-schema.ts";
import { isTextOnly, textOfParts } from "./turns.ts";
import { effortWord } from "./write-chat-request.ts";

export interface ResponsesTarget {
  readonly model: string;
}

/** @throws MANX_TRANSLATE_FIELD for stop sequences, which this API has not. */
export function writeResponsesRequest(
  request: CanonicalRequest,
  target: ResponsesTarget,
  notes: Notes,
): Record<string, unknown> {
  const { tokensMax, temperature, topP, isStream, userId } = request;
  if (request.stop.length > 0) throw untranslatable("stop", "the API has no stop sequences");
  if (request.topK !== null) notes.dropped("top_k", "the API has no such field");
  notes.added("store", "nothing is kept at the provider");
  const effort = effortWord(request.reasoning, notes);
  const isThinking = request.reasoning !== null && request.reasoning.mode !== "off";
  const { instructions, turns } = takeInstructions(request.turns, notes);
  return {
    model: target.model,
    ...(instructions !== null && { instructions }),
    input: turns.flatMap((turn) => new TurnWriter(turn, notes).items()),
    store: false,
    ...(tokensMax !== null && { max_output_tokens: tokensMax }),
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { top_p: topP }),
    ...(isStream && { stream: true }),
    ...writeTools(request, notes),
    ...(isThinking && {
      reasoning: { ...(effort !== null && { effort }), summary: "auto" },
      include: ["reasoning.encrypted_content"],
    }),
    ...textFormat(request),
    ...(userId !== null && { user: userId }),
  };
}

function takeInstructions(
  turns: readonly Turn[],
  notes: Notes,
): { instructions: string | null; turns: readonly Turn[] } {
  const [first, ...rest] = turns;
  if (first?.role !== "system" || !isTextOnly(first.parts)) return { instructions: null, turns };
  for (const part of first.parts) {
    if (part.kind === "text") dropCacheMark(part.cacheMark, first.path, { notes });
  }
  const texts = first.parts.map((part) => textOfParts([part])).filter((text) => text !== "");
  return { instructions: texts.join("\n\n"), turns: rest };
}

/** Text and media of a turn are one message; calls, results and reasoning are items of their own, in order. */
class TurnWriter {
  readonly #turn: Turn;
  readonly #notes: Notes;
  readonly #items: object[] = [];
  #content: Part[] = [];

  constructor(turn: Turn, notes: Notes) {
    this.#turn = turn;
    this.#notes = notes;
  }

  items(): readonly object[] {
    for (const part of this.#turn.parts) this.#write(part);
    this.#endMessage();
    return this.#items;
  }

  #write(part: Part): void {
    if (part.kind === "thinking") {
      this.#reason(part);
      return;
    }
    dropCacheMark(part.cacheMark, this.#turn.path, { notes: this.#notes });
    switch (part.kind) {
      case "call":
        this.#endMessage();
        this.#items.push({
          type: "function_call",
          call_id: part.id,
          name: part.name,
          arguments: part.argumentsText,
        });
        return;
      case "result": {
        this.#endMessage();
        if (part.isError) {
          this.#notes.dropped(`${this.#turn.path}.content[].is_error`, "the API has no such field");
        }
        const output = isTextOnly(part.parts)
          ? textOfParts(part.parts)
          : part.parts.map((one) => this.#contentPart(one));
        this.#items.push({ type: "function_call_output", call_id: part.callId, output });
        return;
      }
      default:
        this.#content.push(part);
    }
  }

  #reason({ text, seal }: ThinkingPart): void {
    if (seal?.owner !== "openai-responses") {
      const field = `${this.#turn.path}.content[].thinking`;
      this.#notes.dropped(field, "it is not the provider's own thinking");
      return;
    }
    this.#endMessage();
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    this.#items.push({ type: "reasoning", summary, encrypted_content: seal.data });
  }

  #endMessage(): void {
    const parts = this.#content;
    this.#content = [];
    if (parts.length === 0) return;
    const { role, path } = this.#turn;
    if (isTextOnly(parts) && (parts.length === 1 || role === "assistant")) {
      this.#items.push({ role, content: textOfParts(parts) });
      return;
    }
    if (role === "assistant") throw untranslatable(path, "an assistant message holds text only");
    this.#items.push({ role, content: parts.map((part) => this.#contentPart(part)) });
  }

  #contentPart(part: Part): object {
    switch (part.kind) {
      case "text":
        return { type: "input_text", text: part.text };
      case "image":
        return { type: "input_image", image_url: urlOf(part.source), detail: "auto" };
      case "document":
        return {
          type: "input_file",
          ...(part.source.kind === "url"
            ? { file_url: part.source.url }
            : { filename: part.name ?? "document.pdf", file_data: urlOf(part.source) }),
        };
      default:
        throw untranslatable(this.#turn.path, "a message holds text, images and documents");
    }
  }
}

function writeTools({ tools, toolChoice, parallelCalls }: CanonicalRequest, notes: Notes): object {
  if (tools.length === 0) return {};
  const choice =
    toolChoice?.kind === "named" ? { type: "function", name: toolChoice.name } : toolChoice?.kind;
  return {
    tools: tools.map(({ name, description, schema, isStrict, cacheMark }) => {
      dropCacheMark(cacheMark, "tools[0]", { notes });
      // Left out, this API is strict by default, which refuses schemas that the caller's API takes.
      const strict = isStrict ?? false;
      const parameters = schema ?? { type: "object", properties: {} };
      return {
        type: "function",
        name,
        ...(description !== null && { description }),
        parameters,
        strict,
      };
    }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallelCalls !== null && { parallel_tool_calls: parallelCalls }),
  };
}

function textFormat({ outputForm }: CanonicalRequest): object {
  if (outputForm === null) return {};
  if (outputForm.kind === "json") return { text: { format: { type: "json_object" } } };
  const { name, description, schema } = outputForm;
  const strict = outputForm.isStrict ?? isStrictSchema(schema);
  const format = { type: "json_schema", name, schema, strict };
  return { text: { format: { ...format, ...(description !== null && { description }) } } };
}
