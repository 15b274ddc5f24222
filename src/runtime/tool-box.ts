/**
 * The tools of an agent by name. A JSON Schema has a validator that was compiled ahead (`manx precompile`), or it is
 * compiled by `warm`, once for all turns; a call that comes before is held until its own schema is compiled.
 *
 * Invariant: no two tools of one name, every needed tool is there, and no tool needs itself, by whatever detour.
 */
import { realClock } from "../clock/index.ts";
import { ManxError, nearestName } from "../core/index.ts";
import { findCycle } from "./graph-cycle.ts";
import { type Checked, compileInput, type InputCheck, type JsonSchema } from "./input-check.ts";
import type { Tool } from "./tool.ts";
import { type FallbackReason, type ValidatorModule, ValidatorSet } from "./validator-set.ts";

export interface ToolBoxOptions {
  /** The module that `manx precompile` has written. */
  readonly validators?: ValidatorModule;
  /** Told once of each tool whose schema is compiled at run time although there are validators. */
  readonly onFallback?: (fallback: ValidatorFallback) => void;
}

export interface ValidatorFallback {
  readonly tool: string;
  readonly reason: FallbackReason;
}

/** Longest that compiling holds up the event loop, give or take one schema. */
const COMPILE_SLICE_US = 8_000;

export class ToolBox {
  readonly #tools = new Map<string, Tool>();
  readonly #compiled = new Map<string, InputCheck>();
  readonly #compiling = new Map<string, Promise<InputCheck>>();
  readonly #ahead: ValidatorSet | undefined;
  readonly #onFallback: ToolBoxOptions["onFallback"];
  readonly #fallbacks = new Map<string, FallbackReason>();
  #warming: Promise<void> | undefined;

  /** @throws MANX_TOOL_INVALID, MANX_GRAPH_INVALID */
  constructor(tools: readonly Tool[], { validators, onFallback }: ToolBoxOptions = {}) {
    this.#ahead = validators === undefined ? undefined : new ValidatorSet(validators);
    this.#onFallback = onFallback;
    for (const tool of tools) {
      if (this.#tools.has(tool.name)) {
        throw new ManxError("MANX_TOOL_INVALID", {
          what: "two tools of one name",
          where: `tool "${tool.name}"`,
        });
      }
      this.#tools.set(tool.name, tool);
      if (tool.check !== undefined) this.#compiled.set(tool.name, tool.check);
    }
    for (const tool of tools) this.#checkNeeds(tool);
    const cycle = findCycle(new Map(tools.map(({ name, needs }) => [name, needs])));
    if (cycle !== undefined) {
      throw new ManxError("MANX_GRAPH_INVALID", {
        what: "tools that need each other",
        got: cycle.join(" → "),
        hint: "take one of these needs away",
      });
    }
  }

  get names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** Tools whose schema was not compiled ahead, as far as they were looked at: all of them after `warm`. */
  get fallbacks(): readonly ValidatorFallback[] {
    return [...this.#fallbacks].map(([tool, reason]) => ({ tool, reason }));
  }

  /** Compiles all JSON Schemas; resolves at once for schemas that need no compiling. @throws MANX_TOOL_INVALID */
  warm(): Promise<void> {
    this.#warming ??= this.#compileAll();
    return this.#warming;
  }

  /** At once where it can be, so that a call starts in the turn of the event loop in which its arguments came. */
  check(tool: Tool, value: unknown): Checked | Promise<Checked> {
    const check = this.#compiled.get(tool.name) ?? this.#compiledAhead(tool);
    if (check !== undefined) return check(value);
    return this.#compile(tool).then(
      (compiled) => compiled(value),
      (error: Error) => ({ problem: `they cannot be checked: ${error.message}` }),
    );
  }

  async #compileAll(): Promise<void> {
    let sinceUs = realClock.nowUs();
    for (const tool of this.#tools.values()) {
      if (this.#compiled.has(tool.name) || this.#compiledAhead(tool) !== undefined) continue;
      await this.#compile(tool);
      if (realClock.nowUs() - sinceUs < COMPILE_SLICE_US) continue;
      // Two hundred schemas in one go would hold up everything else for a quarter of a second.
      await realClock.sleepUntil(0);
      sinceUs = realClock.nowUs();
    }
  }

  #compiledAhead({ name, input }: Tool): InputCheck | undefined {
    if (this.#ahead === undefined || this.#fallbacks.has(name)) return undefined;
    const found = this.#ahead.find(name, input as JsonSchema);
    if (typeof found === "function") {
      this.#compiled.set(name, found);
      return found;
    }
    this.#fallbacks.set(name, found);
    try {
      this.#onFallback?.({ tool: name, reason: found });
    } catch {
      // Told, not asked: it must not keep a call from its tool. `fallbacks` has it too.
    }
    return undefined;
  }

  #compile({ name, input }: Tool): Promise<InputCheck> {
    const going = this.#compiling.get(name);
    if (going !== undefined) return going;
    const compiling = compileInput(input as JsonSchema, `tool "${name}"`);
    this.#compiling.set(name, compiling);
    compiling.then(
      (check) => this.#compiled.set(name, check),
      () => {},
    );
    return compiling;
  }

  #checkNeeds({ name, needs }: Tool): void {
    for (const need of needs) {
      if (this.#tools.has(need)) continue;
      const near = nearestName(need, this.names);
      throw new ManxError("MANX_GRAPH_INVALID", {
        what: "a tool that needs one that is not there",
        where: `tool "${name}"`,
        got: JSON.stringify(need),
        ...(near !== undefined && { hint: `did you mean "${near}"?` }),
      });
    }
  }
}
