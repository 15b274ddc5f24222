/** Who waits for the result of one call, by its id. */
import type { ToolResult } from "./tool-result.ts";

export class ResultWaits {
  readonly #byId = new Map<string, ((result: ToolResult) => void)[]>();

  get ids(): readonly string[] {
    return [...this.#byId.keys()];
  }

  wait(id: string): Promise<ToolResult> {
    return new Promise((resolve) => {
      this.#byId.set(id, [...(this.#byId.get(id) ?? []), resolve]);
    });
  }

  answer(id: string, result: ToolResult): void {
    const waiting = this.#byId.get(id) ?? [];
    this.#byId.delete(id);
    for (const resolve of waiting) resolve(result);
  }
}
