/** Parts of a Gemini answer; texts that follow each other are one, unless a signature stands between them. */
import type { ToolEnd } from "../../stream/index.ts";
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";
import type { MessageKeeper } from "../assistant-message.ts";
import { argumentsOf } from "./call-arguments.ts";

type Part = { [key: string]: unknown };

/** No answer has more. */
const PARTS_MAX = 4_096;

export class GeminiParts implements MessageKeeper {
  readonly #parts: Part[] = [];

  text(_choice: number, text: string): void {
    this.#add({ text });
  }

  frame({ candidates }: JsonObject): void {
    for (const candidate of Array.isArray(candidates) ? candidates : []) {
      if (!isObject(candidate) || (candidate.index ?? 0) !== 0) continue;
      const parts = isObject(candidate.content) ? candidate.content.parts : undefined;
      for (const part of Array.isArray(parts) ? parts : []) if (isObject(part)) this.#add(part);
    }
  }

  messages(calls: readonly ToolEnd[]): readonly object[] {
    const left = [...calls];
    const parts = this.#parts.flatMap((part) => {
      if (!isObject(part.functionCall)) return [part];
      const wireId = textOf(part.functionCall.id);
      const at = left.findIndex(({ id, idGenerated }) => {
        return wireId === "" ? idGenerated : id === wireId;
      });
      const [call] = at < 0 ? [] : left.splice(at, 1);
      return call === undefined ? [] : [{ ...part, functionCall: functionCall(call) }];
    });
    return parts.length === 0 ? [] : [{ role: "model", parts }];
  }

  #add(part: JsonObject): void {
    const last = this.#parts.at(-1);
    if (isPlainText(part) && last !== undefined && isPlainText(last)) {
      if (last.thought === part.thought) {
        last.text = textOf(last.text) + textOf(part.text);
        return;
      }
    }
    // Arguments in pieces belong to the part that named the call.
    if (isObject(part.functionCall) && textOf(part.functionCall.name) === "") return;
    if (this.#parts.length < PARTS_MAX) this.#parts.push({ ...part });
  }
}

function functionCall(call: ToolEnd): object {
  const { id, idGenerated, name } = call;
  return { ...(!idGenerated && { id }), name, args: argumentsOf(call) };
}

function isPlainText(part: JsonObject): boolean {
  return typeof part.text === "string" && part.thoughtSignature === undefined;
}
