/** A request in Anthropic's form. What the API would refuse is put right here, with a note. */

import { parseArguments } from "./arguments.ts";
import { CACHE_MARKS_MAX, writeCacheMark } from "./cache-mark.ts";
import type { CacheMark, CanonicalRequest, ContentPart, Part, Tool } from "./canonical-request.ts";
import { writeSource } from "./media.ts";
import { type MessagesThinking, thinkingFor } from "./messages-thinking.ts";
import { type MessagesTraits, messagesTraits } from "./messages-traits.ts";
import type { Notes } from "./notes.ts";
import { isResult, joinTurns } from "./turns.ts";

export interface MessagesTarget {
  readonly model: string;
  /** For requests that set no limit, since this API needs one. */
  readonly tokensMaxDefault: number;
  /** What differs from what `messagesTraits` knows of the model. */
  readonly traits: Partial<MessagesTraits>;
}

export function writeMessagesRequest(
  request: CanonicalRequest,
  target: MessagesTarget,
  notes: Notes,
): Record<string, unknown> {
  const traits = { ...messagesTraits(target.model), ...target.traits };
  const tokensMax = request.tokensMax ?? target.tokensMaxDefault;
  if (request.tokensMax === null) notes.added("max_tokens", "the API needs a limit");
  const thinking = thinkingFor(request, { tokensMax, traits, notes });
  const writer = new MessagesWriter(request, notes);
  const tools = request.tools.map((tool) => writer.tool(tool));
  const system = writer.system();
  return {
    model: target.model,
    max_tokens: tokensMax,
    ...(system !== undefined && { system }),
    messages: writer.messages(),
    ...(tools.length > 0 && { tools }),
    ...choice(request),
    ...sampling(request, { traits, thinking, notes }),
    ...(request.stop.length > 0 && { stop_sequences: stops(request, notes) }),
    ...(request.isStream && { stream: true }),
    ...(thinking.thinking !== null && { thinking: thinking.thinking }),
    ...outputConfig(request, thinking, notes),
    ...(request.userId !== null && { metadata: { user_id: request.userId } }),
  };
}

class MessagesWriter {
  readonly #request: CanonicalRequest;
  readonly #notes: Notes;
  /** Marks to leave out, the first ones: later ones reach further. */
  #marksOver: number;
  readonly #ids = new Map<string, string>();

  constructor(request: CanonicalRequest, notes: Notes) {
    this.#request = request;
    this.#notes = notes;
    this.#marksOver = countMarks(request) - CACHE_MARKS_MAX;
  }

  tool({ name, description, schema, isStrict, cacheMark }: Tool): object {
    return {
      name,
      ...(description !== null && { description }),
      input_schema: { type: "object", ...(schema ?? { properties: {} }) },
      ...(isStrict === true && { strict: true }),
      ...this.#mark(cacheMark, "tools[0]"),
    };
  }

  /** One text if it can be one: the same prompt has the same bytes, which its cache needs. */
  system(): string | object[] | undefined {
    const turns = this.#request.turns.filter((turn) => turn.role === "system");
    const firstOther = this.#request.turns.findIndex((turn) => turn.role !== "system");
    const isLate = this.#request.turns.some((turn, i) => turn.role === "system" && i > firstOther);
    if (firstOther >= 0 && isLate) {
      this.#notes.changed("messages", "later system messages stand before the conversation");
    }
    const parts = turns.flatMap((turn) => this.#parts(turn.parts));
    const [only] = parts;
    if (only === undefined) return undefined;
    return parts.length === 1 ? unwrap(only) : parts;
  }

  messages(): object[] {
    const turns = joinTurns(this.#request.turns.filter((turn) => turn.role !== "system"));
    const messages = turns.map(({ role, parts }, i) => {
      // Results have to come first in the turn that answers the calls.
      const ordered = [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))];
      const content = this.#parts(ordered);
      if (role === "assistant" && i === turns.length - 1) this.#trimEnd(content);
      const [only] = content;
      const isPlain = content.length === 1 && only !== undefined;
      return { role, content: isPlain ? unwrap(only) : content };
    });
    return messages.filter(({ content }) => content.length > 0);
  }

  #parts(parts: readonly Part[]): Record<string, unknown>[] {
    return parts.map((part) => this.#part(part)).filter((block) => block !== undefined);
  }

  #part(part: Part): Record<string, unknown> | undefined {
    switch (part.kind) {
      case "text":
        // The API refuses empty blocks, and they say nothing.
        if (part.text === "") return undefined;
        return { type: "text", text: part.text, ...this.#mark(part.cacheMark, "content") };
      case "image":
      case "document":
        return this.#media(part);
      case "call":
        return {
          type: "tool_use",
          id: this.#id(part.id),
          name: part.name,
          input: parseArguments(part.argumentsText) ?? this.#broken(part.argumentsText),
          ...this.#mark(part.cacheMark, "content"),
        };
      case "result": {
        const inner = this.#parts(part.parts);
        const [only] = inner;
        const content = inner.length === 1 && only !== undefined ? unwrap(only) : inner;
        return {
          type: "tool_result",
          tool_use_id: this.#id(part.callId),
          ...(inner.length > 0 && { content }),
          ...(part.isError && { is_error: true }),
          ...this.#mark(part.cacheMark, "content"),
        };
      }
      case "thinking":
        return this.#thinking(part);
    }
  }

  #media(part: Exclude<ContentPart, { kind: "text" }>): Record<string, unknown> {
    return {
      type: part.kind,
      source: writeSource(part.source),
      ...(part.kind === "document" && part.name !== null && { title: part.name }),
      ...this.#mark(part.cacheMark, "content"),
    };
  }

  #thinking({
    text,
    seal,
  }: Extract<Part, { kind: "thinking" }>): Record<string, unknown> | undefined {
    if (seal?.owner !== "anthropic-messages") {
      this.#notes.dropped("input[].reasoning", "it is not the provider's own thinking");
      return undefined;
    }
    if (seal.kind === "redacted") return { type: "redacted_thinking", data: seal.data };
    return { type: "thinking", thinking: text, signature: seal.data };
  }

  #mark(mark: CacheMark | null, where: string): object {
    if (mark === null) return {};
    if (this.#marksOver > 0) {
      this.#marksOver -= 1;
      this.#notes.dropped(`${where}.cache_control`, `only the last ${CACHE_MARKS_MAX} are taken`);
      return {};
    }
    return { cache_control: writeCacheMark(mark) };
  }

  /** The API takes letters, digits, `_` and `-`. The same id gives the same one, and two never become one. */
  #id(id: string): string {
    if (/^[\w-]+$/.test(id)) return id;
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    this.#notes.changed("messages[].tool_calls[].id", "characters that the API does not take");
    const own = `${id.replace(/[^\w-]/g, "_")}_manx${this.#ids.size}`;
    this.#ids.set(id, own);
    return own;
  }

  /** The model once made a call that is no JSON object; it has to see what it did. */
  #broken(text: string): object {
    this.#notes.changed("messages[].tool_calls[].function.arguments", "no JSON object");
    return { invalid_json: text };
  }

  #trimEnd(content: Record<string, unknown>[]): void {
    const last = content.at(-1);
    if (last?.type !== "text" || typeof last.text !== "string") return;
    const trimmed = last.text.trimEnd();
    if (trimmed === last.text) return;
    this.#notes.changed("messages", "a last assistant text must not end in blanks");
    if (trimmed === "") content.pop();
    else last.text = trimmed;
  }
}

/** A single text without a mark is written as such. */
function unwrap(block: Record<string, unknown>): string | Record<string, unknown>[] {
  const { type, text, cache_control } = block;
  return type === "text" && cache_control === undefined ? (text as string) : [block];
}

function countMarks({ tools, turns }: CanonicalRequest): number {
  const inParts = (parts: readonly Part[]): number =>
    parts.reduce((sum, part) => {
      const inner = part.kind === "result" ? inParts(part.parts) : 0;
      return sum + inner + (part.kind !== "thinking" && part.cacheMark !== null ? 1 : 0);
    }, 0);
  const inTools = tools.filter((tool) => tool.cacheMark !== null).length;
  return inTools + turns.reduce((sum, turn) => sum + inParts(turn.parts), 0);
}

function choice({ tools, toolChoice, parallelCalls }: CanonicalRequest): object {
  // Without tools there is nothing to choose, and the API refuses the field.
  if (tools.length === 0 || (toolChoice === null && parallelCalls !== false)) return {};
  const { kind } = toolChoice ?? { kind: "auto" as const };
  if (kind === "none") return { tool_choice: { type: "none" } };
  const serial = parallelCalls === false && { disable_parallel_tool_use: true };
  if (toolChoice?.kind === "named") {
    return { tool_choice: { type: "tool", name: toolChoice.name, ...serial } };
  }
  return { tool_choice: { type: kind === "required" ? "any" : "auto", ...serial } };
}

function sampling(
  request: CanonicalRequest,
  { traits, thinking, notes }: { traits: MessagesTraits; thinking: MessagesThinking; notes: Notes },
): object {
  const { temperature, topP, topK } = request;
  const given = { temperature, top_p: topP, top_k: topK };
  if (!traits.takesSampling || thinking.isOn) {
    const why = thinking.isOn ? "not together with thinking" : "the model does not take it";
    for (const [name, value] of Object.entries(given)) if (value !== null) notes.dropped(name, why);
    return {};
  }
  const bounded = temperature === null ? null : Math.min(1, temperature);
  if (bounded !== temperature) notes.changed("temperature", "the API's highest is 1");
  if (temperature !== null && topP !== null) {
    notes.dropped("top_p", "not together with temperature");
  }
  return {
    ...(bounded !== null && { temperature: bounded }),
    ...(topP !== null && temperature === null && { top_p: topP }),
    ...(topK !== null && { top_k: topK }),
  };
}

function stops({ stop }: CanonicalRequest, notes: Notes): string[] {
  const kept = stop.filter((one) => one.trim() !== "");
  if (kept.length < stop.length) notes.dropped("stop", "a stop sequence of blanks is not taken");
  return kept;
}

function outputConfig(
  { outputForm }: CanonicalRequest,
  { effort }: MessagesThinking,
  notes: Notes,
): object {
  if (outputForm?.kind === "json") {
    notes.dropped("response_format", "JSON without a schema is left to the prompt");
  }
  const format = outputForm?.kind === "schema" && {
    format: { type: "json_schema", schema: outputForm.schema },
  };
  const config = { ...(effort !== null && { effort }), ...format };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}
