/**
 * The tools of an agent by name. What has to be compiled is compiled by `warm`, once for all turns; a call that comes
 * before is held until it is.
 *
 * Invariant: no two tools of one name, every needed tool is there, and no tool needs itself, by whatever detour.
 */
import { ManxError, nearestName } from "../core/index.ts";
import { findCycle } from "./graph-cycle.ts";
import { type Checked, compileInput, type InputCheck, type JsonSchema } from "./input-check.ts";
import type { Tool } from "./tool.ts";

export class ToolBox {
  readonly #tools = new Map<string, Tool>();
  readonly #compiled = new Map<string, InputCheck>();
  #warming: Promise<void> | undefined;

  /** @throws MANX_TOOL_INVALID, MANX_GRAPH_INVALID */
  constructor(tools: readonly Tool[]) {
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

  /** Compiles all JSON Schemas; resolves at once for schemas that need no compiling. @throws MANX_TOOL_INVALID */
  warm(): Promise<void> {
    this.#warming ??= this.#compile();
    return this.#warming;
  }

  /** At once where it can be, so that a call starts in the turn of the event loop in which its arguments came. */
  check(tool: Tool, value: unknown): Checked | Promise<Checked> {
    const check = this.#compiled.get(tool.name);
    if (check !== undefined) return check(value);
    return this.warm().then(
      () => this.#compiled.get(tool.name)!(value),
      (error: Error) => ({ problem: `they cannot be checked: ${error.message}` }),
    );
  }

  async #compile(): Promise<void> {
    for (const { name, input } of this.#tools.values()) {
      if (this.#compiled.has(name)) continue;
      this.#compiled.set(name, await compileInput(input as JsonSchema, `tool "${name}"`));
    }
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
