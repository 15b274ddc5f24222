/**
 * Which calls of one message wait for which, while the message is still arriving. A call waits for those before it whose
 * tools it needs; where none stands before it, for those behind it, which are known only when the message has ended. What
 * may not start early waits for the commit besides, a task of its own in the graph.
 */
import type { ModelCall } from "./model-call.ts";
import { type GraphNews, TaskGraph } from "./task-graph.ts";
import type { Tool } from "./tool.ts";

/** No call has this number. */
const COMMIT = -1;

export class CallPlan {
  readonly #calls: ReadonlyMap<number, ModelCall>;
  readonly #graph = new TaskGraph<number>();
  /** Sealed calls whose needs are not known yet. */
  #deferred: ModelCall[] = [];

  /** @param calls by number, in their order; filled on by its owner. */
  constructor(calls: ReadonlyMap<number, ModelCall>) {
    this.#calls = calls;
    this.#graph.add(COMMIT);
  }

  /** The call is whole: into the graph with it, as soon as it is known which calls it needs. */
  place(call: ModelCall, tool: Tool): void {
    const needs: number[] = [];
    for (const name of tool.needs) {
      const before = this.#numbersOf(name).filter((number) => number < call.number);
      if (before.length === 0 || before.some((number) => !this.#graph.has(number))) {
        this.#deferred.push(call);
        return;
      }
      needs.push(...before);
    }
    this.#add(call, tool, needs);
  }

  /** All calls are there, and may be run. */
  commit(): void {
    for (const call of this.#deferred.splice(0)) this.#placeAtEnd(call);
    this.#graph.settle(COMMIT, true);
  }

  /** Nothing that waits will be run. */
  giveUp(): void {
    this.#deferred = [];
  }

  /** A call that is run before it is whole. */
  beginEarly(number: number): void {
    this.#graph.add(number);
    this.#graph.begin(number);
  }

  /** A call that will not be run, but may be needed. */
  addBroken(number: number): void {
    if (!this.#graph.has(number)) this.#graph.add(number);
  }

  /** @returns false if it may not run any more. */
  begin(number: number): boolean {
    if (!this.#graph.isReady(number)) return false;
    this.#graph.begin(number);
    return true;
  }

  settle(number: number, isOk: boolean): void {
    if (this.#graph.has(number)) this.#graph.settle(number, isOk);
  }

  take(): GraphNews<number> {
    const news = this.#graph.take();
    return { ...news, ready: news.ready.filter((number) => number !== COMMIT) };
  }

  #placeAtEnd(call: ModelCall): void {
    if (this.#graph.has(call.number)) return;
    const tool = call.tool!;
    const needs = tool.needs.flatMap((name) => {
      const all = this.#numbersOf(name);
      const before = all.filter((number) => number < call.number);
      return before.length > 0 ? before : all;
    });
    // Needs among tools have no cycle, so this comes to an end.
    for (const need of needs) this.#placeAtEnd(this.#calls.get(need)!);
    this.#add(call, tool, needs);
  }

  #add(call: ModelCall, tool: Tool, needs: readonly number[]): void {
    this.#graph.add(call.number, tool.startsEarly ? needs : [COMMIT, ...needs]);
  }

  #numbersOf(name: string): number[] {
    return [...this.#calls.values()].filter((one) => one.name === name).map(({ number }) => number);
  }
}
