/**
 * One tool call while its arguments arrive. Arguments are JSON text in pieces; nothing, blanks and `null` all mean that
 * there are none, which is `{}` (casebook RT-02).
 */

import { JsonEnd } from "./json-end.ts";
import { isObject } from "./json-object.ts";
import type { ToolEnd } from "./stream-event.ts";

/** Shared by the calls of a response. */
export interface ArgumentBudget {
  charsLeft: number;
}

export interface CallParts {
  readonly choice: number;
  readonly number: number;
  readonly id: string;
  /** As the wire has it; empty if it gave none. */
  readonly wireId: string;
  readonly name: string;
  /** Arguments that came with the opening, as JSON text; they count if no others follow. */
  readonly seed: string;
  readonly byServer: boolean;
}

export class ToolCall {
  readonly choice: number;
  readonly number: number;
  readonly id: string;
  readonly wireId: string;
  readonly byServer: boolean;
  name: string;
  repaired = false;
  problem: string | null = null;
  hasEnded = false;
  readonly #seed: string;
  readonly #jsonEnd = new JsonEnd();
  #text = "";

  constructor(parts: CallParts) {
    this.choice = parts.choice;
    this.number = parts.number;
    this.id = parts.id;
    this.wireId = parts.wireId;
    this.name = parts.name;
    this.byServer = parts.byServer;
    this.#seed = parts.seed;
  }

  get idGenerated(): boolean {
    return this.wireId === "";
  }

  /** Arguments may still follow. */
  get isOpen(): boolean {
    return !this.hasEnded && !this.#jsonEnd.isClosed;
  }

  /** @returns false if the budget does not hold it; the call must not be run then. */
  append(json: string, budget: ArgumentBudget): boolean {
    if (json.length > budget.charsLeft) {
      this.problem ??= "its arguments are longer than the limit";
      return false;
    }
    budget.charsLeft -= json.length;
    this.#text += json;
    this.#jsonEnd.push(json);
    return true;
  }

  end(): ToolEnd {
    this.hasEnded = true;
    const { choice, number: call, id, name, idGenerated, byServer, repaired } = this;
    const said = withoutNothing(this.#text);
    const argumentsText = said === "" ? withoutNothing(this.#seed) || "{}" : said;
    if (name === "") this.problem ??= "it has no name";
    if (!isObjectText(argumentsText)) this.problem ??= "its arguments are no whole JSON object";
    return {
      type: "tool-end",
      choice,
      call,
      id,
      name,
      idGenerated,
      byServer,
      argumentsText,
      repaired,
      problem: this.problem,
    };
  }
}

function withoutNothing(text: string): string {
  const said = text.trim();
  return said === "null" ? "" : said;
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
