/**
 * Where two halves of an adapter meet: the one that sees the model's stream and has the calls started, and the one that a
 * framework asks for their results later, by the id of the call.
 *
 * Invariant: a run is handed out only for the very arguments that it has; a framework may have repaired them meanwhile.
 */
import { canonicalJson } from "../../runtime/canonical-json.ts";
import type { Step, ToolResult, Turn } from "../../runtime/index.ts";

interface Message {
  readonly step: Step;
  /** @returns the arguments of a call as text; undefined if the message has no such call. */
  readonly argsOf: (id: string) => string | undefined;
}

/** Messages of one turn that may still be asked for; frameworks ask for the newest. */
const MESSAGES_MAX = 32;

const desks = new WeakMap<Turn, CallDesk>();

export class CallDesk {
  readonly #messages: Message[] = [];

  static of(turn: Turn): CallDesk {
    const desk = desks.get(turn) ?? new CallDesk();
    desks.set(turn, desk);
    return desk;
  }

  put(message: Message): void {
    this.#messages.push(message);
    if (this.#messages.length > MESSAGES_MAX) this.#messages.shift();
  }

  /** @returns the result of the newest call of this id, if it has these arguments. */
  claim(id: string, args: unknown): Promise<ToolResult> | undefined {
    for (const { step, argsOf } of this.#messages.toReversed()) {
      const text = argsOf(id);
      if (text !== undefined) return sameJson(text, args) ? step.result(id) : undefined;
    }
    return undefined;
  }
}

function sameJson(text: string, value: unknown): boolean {
  try {
    const whole: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return canonicalJson(whole) === canonicalJson(value);
  } catch {
    return false;
  }
}
