/**
 * A chat message: its text, its calls, and the fields that servers beside OpenAI want back with calls: reasoning, and what
 * Gemini signs its calls with (`extra_content`).
 */
import type { ToolEnd } from "../../stream/index.ts";
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";
import type { MessageKeeper } from "../assistant-message.ts";
import { argumentsTextOf } from "./call-arguments.ts";

/** Of entries that are kept beside text; no answer has more. */
const ENTRIES_MAX = 4_096;

export class ChatParts implements MessageKeeper {
  #text = "";
  #refusal = "";
  #reasoning = "";
  /** The field in which it came: it goes back in the same. */
  #reasoningField: "reasoning_content" | "reasoning" = "reasoning_content";
  readonly #details: unknown[] = [];
  readonly #extraById = new Map<string, unknown>();

  text(_choice: number, text: string): void {
    this.#text += text;
  }

  frame({ choices }: JsonObject): void {
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (!isObject(choice) || (choice.index ?? 0) !== 0) continue;
      const delta = choice.delta ?? choice.message;
      if (isObject(delta)) this.#delta(delta);
    }
  }

  messages(calls: readonly ToolEnd[]): readonly object[] {
    const text = this.#text;
    if (text === "" && this.#refusal === "" && calls.length === 0) return [];
    return [
      {
        role: "assistant",
        content: text === "" ? null : text,
        ...(this.#refusal !== "" && { refusal: this.#refusal }),
        // Wanted with calls by those that send it; without, some refuse it.
        ...(calls.length > 0 && this.#kept()),
        ...(calls.length > 0 && { tool_calls: calls.map((call) => this.#call(call)) }),
      },
    ];
  }

  #kept(): object {
    return {
      ...(this.#reasoning !== "" && { [this.#reasoningField]: this.#reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
    };
  }

  #call(call: ToolEnd): object {
    const { id, name } = call;
    const extra = this.#extraById.get(id);
    return {
      id,
      type: "function",
      function: { name, arguments: argumentsTextOf(call) },
      ...(extra !== undefined && { extra_content: extra }),
    };
  }

  #delta(delta: JsonObject): void {
    const { content, tool_calls: calls, reasoning_details: details } = delta;
    if (typeof content === "string") this.#text += content;
    else if (Array.isArray(content)) {
      for (const part of content) if (isObject(part)) this.#text += partText(part);
    }
    this.#refusal += textOf(delta.refusal);
    const named = textOf(delta.reasoning_content);
    if (named === "" && textOf(delta.reasoning) !== "") this.#reasoningField = "reasoning";
    this.#reasoning += named || textOf(delta.reasoning);
    if (Array.isArray(details) && this.#details.length < ENTRIES_MAX) {
      this.#details.push(...details);
    }
    for (const call of Array.isArray(calls) ? calls : []) {
      if (!isObject(call) || call.extra_content === undefined) continue;
      if (this.#extraById.size < ENTRIES_MAX) {
        this.#extraById.set(textOf(call.id), call.extra_content);
      }
    }
  }
}

function partText(part: JsonObject): string {
  return part.type === "text" ? textOf(part.text) : "";
}
