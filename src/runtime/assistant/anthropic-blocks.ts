/** Content blocks in their order, with the deltas put in: thinking keeps its signature, what the provider ran its result. */
import type { ToolEnd } from "../../stream/index.ts";
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";
import type { MessageKeeper } from "../assistant-message.ts";
import { argumentsOf } from "./call-arguments.ts";

type Block = { [key: string]: unknown };

/** No answer has more. */
const BLOCKS_MAX = 1_024;
const HAS_JSON: ReadonlySet<string> = new Set(["server_tool_use", "mcp_tool_use"]);

export class AnthropicBlocks implements MessageKeeper {
  readonly #blocks: Block[] = [];
  readonly #byIndex = new Map<unknown, Block>();
  /** Arguments of calls that the provider ran itself. */
  readonly #jsonOf = new Map<Block, string>();
  /** Of the frame before: a text without a frame goes on with it. */
  #newest: Block | undefined;

  text(_choice: number, text: string): void {
    if (this.#newest?.type === "text") this.#append(this.#newest, "text", text);
  }

  frame(frame: JsonObject): void {
    if (frame.type === "content_block_start" && isObject(frame.content_block)) {
      if (this.#blocks.length >= BLOCKS_MAX) return;
      this.#newest = { ...frame.content_block };
      this.#blocks.push(this.#newest);
      this.#byIndex.set(frame.index, this.#newest);
    } else if (frame.type === "content_block_delta" && isObject(frame.delta)) {
      this.#newest = this.#byIndex.get(frame.index);
      if (this.#newest !== undefined) this.#delta(this.#newest, frame.delta);
    }
  }

  messages(calls: readonly ToolEnd[], isPaused: boolean): readonly object[] {
    const byId = new Map(calls.map((call) => [call.id, call]));
    const content = this.#blocks.flatMap((block) => this.#whole(block, byId));
    for (const call of byId.values()) {
      content.push({ type: "tool_use", id: call.id, name: call.name, input: argumentsOf(call) });
    }
    const isOnlyThought = content.every(({ type }) => /thinking$/.test(String(type)));
    return isOnlyThought && !isPaused ? [] : [{ role: "assistant", content }];
  }

  #whole(block: Block, byId: Map<string, ToolEnd>): Block[] {
    if (block.type === "text") return block.text === "" ? [] : [block];
    if (block.type === "tool_use") {
      const call = byId.get(textOf(block.id));
      byId.delete(textOf(block.id));
      return call === undefined ? [] : [{ ...block, input: argumentsOf(call) }];
    }
    if (!HAS_JSON.has(String(block.type))) return [block];
    const json = this.#jsonOf.get(block) ?? "";
    return [json === "" ? block : { ...block, input: parsed(json) }];
  }

  #delta(block: Block, delta: JsonObject): void {
    switch (delta.type) {
      case "text_delta":
        this.#append(block, "text", textOf(delta.text));
        return;
      case "thinking_delta":
        this.#append(block, "thinking", textOf(delta.thinking));
        return;
      case "signature_delta":
        this.#append(block, "signature", textOf(delta.signature));
        return;
      case "citations_delta":
        block.citations = [...asList(block.citations), delta.citation];
        return;
      case "input_json_delta":
        if (!HAS_JSON.has(String(block.type))) return;
        this.#jsonOf.set(block, (this.#jsonOf.get(block) ?? "") + textOf(delta.partial_json));
        return;
      default:
    }
  }

  #append(block: Block, field: "text" | "thinking" | "signature", text: string): void {
    block[field] = textOf(block[field]) + text;
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
