/** Runs a plan: its calls as a graph, each when what it refers to is there, with all that a tool's declaration says. */
import type { Cancel } from "../clock/index.ts";
import { isManxError, ManxError } from "../core/index.ts";
import type { OpenSpan } from "../trace/index.ts";
import { CallRun } from "./call-run.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import { type PlanStep, referencesIn, withResults } from "./plan.ts";
import { errorText, type ResultText } from "./result-text.ts";
import { TaskGraph } from "./task-graph.ts";
import type { Tool } from "./tool.ts";
import type { ToolResult } from "./tool-result.ts";
import { inOrderOfNeeds } from "./topological.ts";

/** No model writes longer ones that are meant. */
const STEPS_MAX = 1_000;

export class PlanRun {
  readonly results: Promise<readonly ToolResult[]>;
  readonly #steps: readonly PlanStep[];
  readonly #scope: DispatchScope;
  readonly #tools: readonly Tool[];
  readonly #graph = new TaskGraph<number>();
  readonly #needs: ReadonlyArray<readonly number[]>;
  readonly #results = new Map<number, ToolResult>();
  readonly #spans = new Map<number, OpenSpan>();
  #isPumping = false;
  readonly #letGo: Cancel;
  #resolve: (results: readonly ToolResult[]) => void = () => {};

  /** @throws MANX_GRAPH_INVALID for a cycle, or a reference to a step that is not there; MANX_TOOL_INVALID */
  constructor(steps: readonly PlanStep[], scope: DispatchScope) {
    this.#steps = steps;
    this.#scope = scope;
    if (steps.length > STEPS_MAX) {
      throw new ManxError("MANX_GRAPH_INVALID", {
        what: "a plan that is too long",
        expected: `at most ${STEPS_MAX} steps`,
        got: String(steps.length),
      });
    }
    this.#tools = steps.map((step, i) => this.#toolOf(step, i + 1));
    this.results = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const needs = steps.map(({ args, after = [] }) => [...referencesIn(args), ...after]);
    this.#needs = needs;
    const byName = new Map(needs.map((own, i) => [nameOf(i + 1), own.map(nameOf)]));
    for (const name of inOrderOfNeeds(byName)) {
      const number = Number(name.slice(1));
      this.#graph.add(number, needs[number - 1]);
    }
    const { signal } = scope.deadline;
    const onAbort = (): void => this.#timeIsUp();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo = () => signal.removeEventListener("abort", onAbort);
    this.#pump();
    if (scope.deadline.isOver) this.#timeIsUp();
  }

  #toolOf({ tool: name }: PlanStep, number: number): Tool {
    const tool = this.#scope.tools.get(name);
    if (tool !== undefined) return tool;
    throw new ManxError("MANX_TOOL_INVALID", {
      what: "a plan that calls a tool that is not there",
      where: `step $${number}`,
      expected: `one of ${this.#scope.tools.names.join(", ")}`,
      got: JSON.stringify(name),
    });
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (;;) {
      const { ready, skipped } = this.#graph.take();
      if (ready.length + skipped.length === 0) break;
      for (const { key, because } of skipped) {
        const why = `not run, since ${nameOf(because ?? 0)}, which it needs, failed`;
        this.#settle(key, errorText("skipped", why));
      }
      for (const number of ready) {
        if (!this.#graph.isReady(number)) continue;
        this.#graph.begin(number);
        void this.#begin(number);
      }
    }
    this.#isPumping = false;
    if (this.#graph.open === 0) this.#finish();
  }

  async #begin(number: number): Promise<void> {
    const tool = this.#tools[number - 1]!;
    const { tools, admit } = this.#scope;
    try {
      const written = withResults(
        this.#steps[number - 1]!.args,
        (of) => this.#results.get(of)?.value,
      );
      const checked = tools.check(tool, written);
      const known = checked instanceof Promise ? await checked : checked;
      if ("problem" in known) {
        this.#settle(number, errorText("invalid", `the arguments do not fit: ${known.problem}`));
        return;
      }
      const { args } = known;
      const call = { id: nameOf(number), name: tool.name, effect: tool.effect, args };
      const admission = admit === undefined ? undefined : await admit(call);
      if (admission !== undefined) {
        this.#settle(number, errorText("blocked", `blocked: ${admission.blocked}`));
      } else if (!this.#results.has(number)) this.#run(number, tool, args, written);
    } catch (error) {
      const isOurs = isManxError(error);
      this.#settle(
        number,
        isOurs
          ? errorText("invalid", error.message)
          : errorText("blocked", "blocked: its check has failed"),
      );
    }
  }

  #run(number: number, tool: Tool, args: unknown, written: unknown): void {
    const run =
      this.#scope.prefetch?.claim(tool, written, nameOf(number)) ??
      this.#newRun(number, tool, args);
    this.#spans.set(number, run.span);
    run.whenSettled((outcome) => this.#settle(number, outcome, run));
    run.begin();
  }

  #newRun(number: number, tool: Tool, args: unknown): CallRun {
    const place = { under: this.#scope.trace, after: this.#spansBefore(number) };
    const input = { callId: nameOf(number), args, whole: Promise.resolve(args), place };
    return new CallRun(tool, input, this.#scope);
  }

  #spansBefore(number: number): OpenSpan[] {
    const before = this.#needs[number - 1]!.map((need) => this.#spans.get(need));
    return before.filter((span) => span !== undefined);
  }

  #settle(number: number, text: ResultText, run?: CallRun): void {
    if (this.#results.has(number)) return;
    const endedUs = this.#scope.deadline.clock.nowUs();
    this.#results.set(number, {
      number: number - 1,
      id: nameOf(number),
      idGenerated: true,
      name: this.#tools[number - 1]!.name,
      status: text.status,
      isError: text.status !== "ok",
      text: text.text,
      charsCut: text.charsCut,
      value: run?.outcome?.value,
      times: { sealedUs: null, startedUs: run?.startedUs ?? null, endedUs, headStartUs: 0 },
    });
    this.#graph.settle(number, text.status === "ok");
    this.#pump();
  }

  #timeIsUp(): void {
    const isPast = this.#scope.deadline.isPast;
    const text = isPast
      ? errorText("timeout", "timeout: the turn's time is over")
      : errorText("cancelled", "the turn has ended");
    for (let number = 1; number <= this.#steps.length; number += 1) this.#settle(number, text);
  }

  #finish(): void {
    this.#letGo();
    this.#resolve(this.#steps.map((_, i) => this.#results.get(i + 1)!));
  }
}

function nameOf(number: number): string {
  return `$${number}`;
}
