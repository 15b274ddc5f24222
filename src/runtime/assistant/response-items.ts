/** The output items of a response as they came; a call that never came whole is not among them. */
import type { ToolEnd } from "../../stream/index.ts";
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";
import type { MessageKeeper } from "../assistant-message.ts";
import { argumentsTextOf } from "./call-arguments.ts";

/** No answer has more. */
const ITEMS_MAX = 1_024;
const CALLS: ReadonlySet<string> = new Set(["function_call", "custom_tool_call"]);

export class ResponseItems implements MessageKeeper {
  readonly #items: JsonObject[] = [];
  #final: readonly JsonObject[] | undefined;

  text(): void {}

  frame({ type, item, response }: JsonObject): void {
    if (type === "response.output_item.done" && isObject(item)) {
      if (this.#items.length < ITEMS_MAX) this.#items.push(item);
    } else if (type === "response.completed" && isObject(response)) {
      const { output } = response;
      if (Array.isArray(output) && output.length > 0) this.#final = output.filter(isObject);
    }
  }

  messages(calls: readonly ToolEnd[]): readonly object[] {
    const byId = new Map(calls.map((call) => [call.id, call]));
    const items = (this.#final ?? this.#items).flatMap((item) => {
      if (!CALLS.has(textOf(item.type))) return [item];
      const call = byId.get(textOf(item.call_id));
      byId.delete(textOf(item.call_id));
      if (call === undefined) return [];
      return item.type === "function_call"
        ? [{ ...item, arguments: argumentsTextOf(call) }]
        : [item];
    });
    // A call that came without an item of its own, such as one whose id was made here.
    for (const call of byId.values()) {
      const { id, name } = call;
      items.push({ type: "function_call", call_id: id, name, arguments: argumentsTextOf(call) });
    }
    // Reasoning is refused without the item that it led to.
    while (items.at(-1)?.type === "reasoning") items.pop();
    return items;
  }
}
