/** One tool call of a message while it arrives, with what is known of it. */
import { JsonSealer, type StreamEvent, type ToolEnd } from "../stream/index.ts";
import type { CallRun } from "./call-run.ts";
import type { ResultText } from "./result-text.ts";
import type { Tool } from "./tool.ts";
import type { ToolResult } from "./tool-result.ts";

type ToolStartEvent = Extract<StreamEvent, { type: "tool-start" }>;

export class ModelCall {
  readonly number: number;
  readonly id: string;
  readonly idGenerated: boolean;
  name: string;
  tool: Tool | undefined;
  /** As the model wrote them; undefined before they are whole. */
  args: unknown;
  isSealed = false;
  sealedUs: number | null = null;
  run: CallRun | undefined;
  outcome: (ResultText & { readonly endedUs: number; readonly value?: unknown }) | undefined;
  readonly #sealer = new JsonSealer();
  #whole: PromiseWithResolvers<unknown> | undefined;

  constructor({ call, id, idGenerated, name }: ToolStartEvent) {
    this.number = call;
    this.id = id;
    this.idGenerated = idGenerated;
    this.name = name;
  }

  /** @returns whether the arguments became whole with this piece. */
  push(json: string): boolean {
    if (this.isSealed) return false;
    this.#sealer.push(json);
    return this.#sealer.isClosed && !Array.isArray(this.#sealer.value);
  }

  /** What has been pushed, once it is whole. */
  get pushedArgs(): unknown {
    return this.#sealer.value;
  }

  /** The fields so far, if all of these are whole. */
  fieldsFor(names: readonly string[]): Record<string, unknown> | undefined {
    const areThere = names.length > 0 && names.every((name) => this.#sealer.isSealed(name));
    return areThere ? this.#sealer.sealedFields() : undefined;
  }

  /** A field that a run has begun with was said again. */
  get hasChangedFields(): boolean {
    return this.#sealer.hasDuplicates;
  }

  /** @returns a promise of the whole arguments for a run that begins with some of them. */
  promiseWhole(): Promise<unknown> {
    this.#whole = withResolvers();
    return this.#whole.promise;
  }

  keepWhole(args: unknown): void {
    this.#whole?.resolve(args);
  }

  breakWhole(why: string): void {
    this.#whole?.reject(new DOMException(why, "AbortError"));
  }

  seal(args: unknown, atUs: number): void {
    this.isSealed = true;
    this.sealedUs = atUs;
    this.args = args;
  }

  nameBy({ name }: ToolEnd): void {
    if (this.name === "") this.name = name;
  }

  /** @param endUs of the message. */
  result(endUs: number): ToolResult {
    const { number, id, idGenerated, name, outcome } = this;
    const { status, text, charsCut, endedUs, value } = outcome!;
    const startedUs = this.run?.startedUs ?? null;
    return {
      number,
      id,
      idGenerated,
      name,
      status,
      isError: status !== "ok",
      text,
      charsCut,
      value,
      times: {
        sealedUs: this.sealedUs,
        startedUs,
        endedUs,
        headStartUs: startedUs === null ? 0 : Math.max(0, endUs - startedUs),
      },
    };
  }
}

interface PromiseWithResolvers<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

function withResolvers(): PromiseWithResolvers<unknown> {
  let resolve: (value: unknown) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<unknown>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Most runs never ask for it.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
