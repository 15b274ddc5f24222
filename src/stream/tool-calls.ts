/**
 * Which tool call does a fragment belong to? Providers leave out the index, repeat it, let it drift, and send id and name
 * once or always (casebook RT-01). The rules, in this order:
 *
 *     1. an id seen before             → that call
 *     2. a new id                      → a new call (unless it has no name and its index is open: then that call, repaired)
 *     3. no id, a known index          → the call at it (a name after whole arguments opens a new call)
 *     4. no id, no or a new index      → with a name a new call, without one the only call that is open
 *     5. anything else                 → a fault; every call that it may have belonged to must not be run
 *
 * A call is open until its arguments are whole JSON. Fragments are never sorted, and no rule guesses.
 */
import type { EventSink } from "./event-sink.ts";
import { type ArgumentBudget, ToolCall } from "./tool-call.ts";

export interface CallFragment {
  readonly choice: number;
  readonly index: number | null;
  /** Empty if absent. */
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

export interface ToolCallLimits {
  /** Most tool calls of a response; further ones are dropped and are a fault. Default 256. */
  readonly toolCallsMax?: number;
  /** Most characters of arguments, over all calls of a response; a call that goes over it is not run. Default 4 Mi. */
  readonly argumentCharsMax?: number;
}

const CALLS_MAX = 256;
const ARGUMENT_CHARS_MAX = 4 * 1024 * 1024;

export class ToolCalls {
  readonly #sink: EventSink;
  readonly #callsMax: number;
  readonly #budget: ArgumentBudget;
  readonly #calls: ToolCall[] = [];
  /** The newest call at each `choice:index`. Made with the first: most streams have none. */
  #byIndex: Map<string, ToolCall> | undefined;
  /** A call was refused. */
  #isFull = false;

  constructor(sink: EventSink, limits: ToolCallLimits = {}) {
    this.#sink = sink;
    this.#callsMax = limits.toolCallsMax ?? CALLS_MAX;
    this.#budget = { charsLeft: limits.argumentCharsMax ?? ARGUMENT_CHARS_MAX };
  }

  /** One element of `delta.tool_calls`. */
  add(fragment: CallFragment): void {
    const call = this.#find(fragment) ?? this.#open(fragment);
    if (call === undefined || call === AMBIGUOUS) return;
    if (call.name === "") call.name = fragment.name;
    this.append(call, fragment.json);
  }

  /** A block that is a call, on a wire that says so; undefined if there are too many. */
  start(parts: {
    id: string;
    name: string;
    seed: string;
    byServer: boolean;
    /** Default 0. */
    choice?: number;
  }): ToolCall | undefined {
    return this.#start({ choice: 0, ...parts });
  }

  append(call: ToolCall, json: string): void {
    if (json === "") return;
    if (call.hasEnded) {
      if (json.trim() !== "")
        this.#fault("tool-ambiguous", "arguments after the end of their call");
    } else if (call.append(json, this.#budget)) {
      this.#sink.emit({ type: "tool-delta", choice: call.choice, call: call.number, json });
    } else this.#fault("tool-limit", "more arguments than the limit");
  }

  end(call: ToolCall): void {
    if (!call.hasEnded) this.#sink.emit(call.end());
  }

  endChoice(choice: number): void {
    for (const call of this.#calls) if (call.choice === choice) this.end(call);
  }

  endAll(): void {
    for (const call of this.#calls) this.end(call);
  }

  /** Whether the client has calls to run in this choice. */
  has(choice: number): boolean {
    return this.#calls.some((call) => call.choice === choice && !call.byServer);
  }

  /** The call that has to take the fragment; undefined if it opens one. */
  #find(fragment: CallFragment): ToolCall | typeof AMBIGUOUS | undefined {
    const { choice, id, name } = fragment;
    const atIndex =
      fragment.index === null ? undefined : this.#byIndex?.get(`${choice}:${fragment.index}`);
    if (id !== "") {
      const known = this.#calls.find((call) => call.choice === choice && call.wireId === id);
      if (known !== undefined) return known;
      if (name !== "" || atIndex === undefined || !atIndex.isOpen) return undefined;
      atIndex.repaired = true;
      return atIndex;
    }
    if (atIndex !== undefined) return this.#continue(atIndex, fragment);
    // What belongs to a call that was refused must not end up in another one.
    if (this.#isFull && name === "") return AMBIGUOUS;
    const open = this.#calls.filter((call) => call.choice === choice && call.isOpen);
    if (name !== "") {
      // Without an index a name may be said again; with one that is new it is a call that is new.
      const [only] = open;
      if (fragment.index !== null || only === undefined) return undefined;
      return open.length === 1 ? this.#continue(only, fragment) : this.#ambiguous(open, fragment);
    }
    const [only] = open;
    if (only === undefined || open.length > 1) return this.#ambiguous(open, fragment);
    if (fragment.index !== null && fragment.json !== "") only.repaired = true;
    return only;
  }

  #continue(call: ToolCall, fragment: CallFragment): ToolCall | typeof AMBIGUOUS | undefined {
    const { name } = fragment;
    if (name === "" || call.name === "") return call;
    if (!call.isOpen) return undefined;
    return name === call.name ? call : this.#ambiguous([call], fragment);
  }

  #open(fragment: CallFragment): ToolCall | undefined {
    const { choice, index, id, name } = fragment;
    const call = this.#start({ choice, id, name, seed: "", byServer: false });
    if (call === undefined || index === null) return call;
    this.#byIndex ??= new Map();
    this.#byIndex.set(`${choice}:${index}`, call);
    return call;
  }

  #start(parts: {
    choice: number;
    id: string;
    name: string;
    seed: string;
    byServer: boolean;
  }): ToolCall | undefined {
    if (this.#calls.length >= this.#callsMax) {
      this.#isFull = true;
      this.#fault("tool-limit", `more than ${this.#callsMax} tool calls`);
      return undefined;
    }
    const number = this.#calls.length;
    const id = parts.id === "" ? this.#newId(number) : parts.id;
    const call = new ToolCall({ ...parts, number, id, wireId: parts.id });
    this.#calls.push(call);
    const { choice, name, idGenerated, byServer } = call;
    this.#sink.emit({ type: "tool-start", choice, call: number, id, name, idGenerated, byServer });
    return call;
  }

  /** Made from the response's id, so that calls of two turns of one conversation do not share one. */
  #newId(number: number): string {
    const prefix = `call_${this.#sink.tracker.id ?? "manx"}_`;
    let suffix = number;
    while (this.#calls.some((call) => call.id === prefix + suffix)) suffix += 1;
    return prefix + suffix;
  }

  #ambiguous(candidates: readonly ToolCall[], fragment: CallFragment): typeof AMBIGUOUS {
    // Blank fragments say nothing that could get lost.
    if (fragment.json.trim() === "" && fragment.name === "") return AMBIGUOUS;
    const detail =
      candidates.length === 0
        ? "a fragment that belongs to no open call"
        : `a fragment that could belong to ${candidates.length} open calls or to none`;
    for (const call of candidates) call.problem ??= detail;
    this.#fault("tool-ambiguous", detail);
    return AMBIGUOUS;
  }

  #fault(code: "tool-ambiguous" | "tool-limit", detail: string): void {
    this.#sink.emit({ type: "fault", code, detail });
  }
}

const AMBIGUOUS = Symbol("ambiguous");
